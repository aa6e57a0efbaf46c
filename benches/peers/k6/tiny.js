// benches/tiny.lua for k6: one page, its status checked.
import http from 'k6/http';
import { check } from 'k6';

export const options = {
  vus: Number(__ENV.USERS),
  duration: __ENV.DURATION,
  insecureSkipTLSVerify: true,
};

const url = `${__ENV.TARGET}/`;

export default function () {
  check(http.get(url), { 'status is 200': (answer) => answer.status === 200 });
}
