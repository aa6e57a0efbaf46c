// What examples/from/k6_scenarios.lua shows in lgoose.   k6 run -e SUMMARY=summary.json examples/from/k6_scenarios.js
import http from 'k6/http';
import { check, sleep } from 'k6';

const SITE = __ENV.SITE || 'http://127.0.0.1:8080';

export const options = {
  scenarios: {
    readers: {
      executor: 'ramping-vus',
      exec: 'read',
      stages: [{ duration: '1s', target: 4 }, { duration: '4s', target: 4 }],
    },
    buyers: {
      executor: 'constant-arrival-rate',
      exec: 'buy',
      startTime: '2s',
      duration: '3s',
      rate: 20,
      timeUnit: '1s',
      preAllocatedVUs: 20,
      tags: { phase: 'load' },
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    'http_req_duration{scenario:buyers}': ['p(95)<500'],
    'http_req_duration{phase:load,name:cart}': ['p(99)<800'],
  },
};

export function read() {
  const page = (path, name) => ['GET', SITE + path, null, { tags: { name } }];
  const answers = http.batch([page('/', 'front page'), page('/style.css', 'asset'), page('/logo.svg', 'asset')]);
  check(answers[0], { 'is the shop': (answer) => answer.body.includes('Welcome') });
  sleep(0.5);
}

export function buy() {
  const jar = http.cookieJar();
  jar.set(SITE, 'currency', 'EUR');
  http.post(`${SITE}/login`, { username: 'user7', password: '12345' }, { tags: { name: 'login' } });
  check(jar.cookiesForURL(SITE), { 'has a session': (cookies) => cookies.session.length === 1 });
  http.get(`${SITE}/account`, { tags: { name: 'cart' }, cookies: { campaign: 'spring' } });
}

export function handleSummary(data) {
  const buyers = data.metrics['http_req_duration{scenario:buyers}'];
  const summary = JSON.stringify({
    requests: data.metrics.http_reqs.values.count,
    buyers_p95_ms: buyers.values['p(95)'],
    fast_enough: buyers.thresholds['p(95)<500'].ok,
  });
  return { [__ENV.SUMMARY || 'stdout']: summary };
}
