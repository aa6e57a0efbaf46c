// plans/drupal.lua for k6, request for request: the same weights, checks and assets. Patterns instead of
// parseHTML, which costs k6 a lot more. Ends with an error when a request or a check failed.
import http from 'k6/http';
import { check } from 'k6';

const HOST = __ENV.TARGET;
const USERS = Number(__ENV.USERS);
const MEMBERS = Math.max(1, Math.round(USERS / 5));
const PASSWORD = '12345';
const SUBJECT = 'this is a test comment subject';
const COMMENT = 'this is a test comment body';

// Scripts, images and imported stylesheets.
const ASSET = /(?:src="|@import url\(")([^"]*)/g;
const BUILD_ID = /name="form_build_id" value="(.*?)"/;
const TOKEN = /name="form_token" value="(.*?)"/;

const always = { executor: 'constant-vus', duration: __ENV.DURATION, gracefulStop: '0s' };

export const options = {
  // A user stays logged in.
  noCookiesReset: true,
  scenarios: {
    AnonBrowsingUser: { ...always, exec: 'anonymous', vus: USERS - MEMBERS },
    AuthBrowsingUser: { ...always, exec: 'member', vus: MEMBERS },
  },
  thresholds: { checks: ['rate==1'], http_req_failed: ['rate==0'] },
};

// One row for each kind of page instead of one for each address; the body of an asset is of no use.
const NODE = { tags: { name: 'node page' } };
const USER = { tags: { name: 'user page' } };
const FORM = { tags: { name: 'comment form' } };
const STATIC = { tags: { name: 'static asset' }, responseType: 'none' };

function random(least, most) {
  return least + Math.floor(Math.random() * (most - least + 1));
}

// weighted([[15, f], [10, g]]): one of the tasks, by weight.
function weighted(tasks) {
  let ticket = Math.random() * tasks.reduce((sum, [weight]) => sum + weight, 0);
  return tasks.find(([weight]) => (ticket -= weight) < 0)[1];
}

function frontPage() {
  const page = http.get(`${HOST}/`);
  check(page, {
    'front page': (answer) => answer.status === 200 && answer.body.includes('<title>Welcome'),
  });
  // Where Drupal 7 keeps those that the plan loads.
  const urls = Array.from(page.body.matchAll(ASSET), (found) => found[1])
    .filter((url) => url.includes('/misc/') || url.includes('/themes/'));
  http.batch(urls.map((url) => ['GET', url, null, STATIC]));
}

function nodePage() {
  http.get(`${HOST}/node/${random(1, 9999)}`, NODE);
}

function userPage() {
  http.get(`${HOST}/user/${random(2, 5000)}`, USER);
}

function logIn() {
  const build_id = BUILD_ID.exec(http.get(`${HOST}/user`).body)[1];
  const answer = http.post(`${HOST}/user`, {
    name: `user${random(3, 5001)}`,
    pass: PASSWORD,
    form_build_id: build_id,
    form_id: 'user_login',
    op: 'Log in',
  });
  check(answer, { 'logged in': (page) => !page.body.includes('id="user-login') });
}

function postComment() {
  const nid = random(1, 9999);
  const html = http.get(`${HOST}/node/${nid}`, NODE).body;
  const answer = http.post(
    `${HOST}/comment/reply/${nid}`,
    {
      subject: SUBJECT,
      'comment_body[und][0][value]': COMMENT,
      'comment_body[und][0][format]': 'filtered_html',
      form_build_id: BUILD_ID.exec(html)[1],
      form_token: TOKEN.exec(html)[1],
      form_id: 'comment_node_article_form',
      op: 'Save',
    },
    FORM,
  );
  check(answer, {
    'comment posted': (page) =>
      page.body.includes('Your comment has been posted') && page.body.includes(COMMENT),
  });
}

const PAGES = [[15, frontPage], [10, nodePage], [3, userPage]];
const MEMBERS_PAGES = [...PAGES, [3, postComment]];
let isLoggedIn = false;

export function anonymous() {
  weighted(PAGES)();
}

export function member() {
  if (!isLoggedIn) {
    logIn();
    isLoggedIn = true;
  }
  weighted(MEMBERS_PAGES)();
}
