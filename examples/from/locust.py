# What examples/from/locust.lua shows in lgoose.   locust -f examples/from/locust.py -H http://127.0.0.1:8080 -u 5
import random

from locust import HttpUser, between, task


class Customer(HttpUser):
    wait_time = between(1, 3)
    weight = 3

    def on_start(self):
        answer = self.client.post("/api/login", json={"username": "user7", "password": "12345"})
        self.client.headers["Authorization"] = "Bearer " + answer.json()["token"]

    @task(3)
    def product(self):
        self.client.get(f"/api/products/{random.randint(1, 100)}", name="/api/products/[id]")

    @task
    def orders(self):
        with self.client.get("/api/orders", catch_response=True) as answer:
            if not isinstance(answer.json(), list):
                answer.failure("orders are no list")


class Reader(HttpUser):
    wait_time = between(1, 3)
    weight = 1

    @task
    def index(self):
        self.client.get("/")
