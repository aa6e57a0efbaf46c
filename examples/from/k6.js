// What examples/from/k6.lua shows in lgoose.   k6 run examples/from/k6.js
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Trend } from 'k6/metrics';

const SITE = __ENV.SITE || 'http://127.0.0.1:8080';
const price = new Trend('price');

export const options = {
  stages: [
    { duration: '10s', target: 10 },
    { duration: '30s', target: 10 },
    { duration: '5s', target: 0 },
  ],
  thresholds: { http_req_duration: ['p(95)<500'], checks: ['rate>0.99'] },
};

export function setup() {
  const body = JSON.stringify({ username: 'user7', password: '12345' });
  return http.post(`${SITE}/api/login`, body, { headers: { 'Content-Type': 'application/json' } }).json();
}

export default function (shared) {
  group('browse', () => {
    const answer = http.get(`${SITE}/api/products/${__VU}`, { tags: { name: 'product' } });
    check(answer, { 'is 200': (answer) => answer.status === 200 });
    price.add(answer.json().price);
  });
  http.get(`${SITE}/api/orders`, { headers: { Authorization: `Bearer ${shared.token}` } });
  sleep(1);
}
