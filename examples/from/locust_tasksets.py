# What examples/from/locust_tasksets.lua shows in lgoose.
# locust -f examples/from/locust_tasksets.py -H http://127.0.0.1:8080 --headless -u 5 -r 5 -t 10s
import random
from collections import deque

from locust import HttpUser, SequentialTaskSet, TaskSet, between, constant, task

orders = deque()  # made by customers, cancelled by the warehouse


def log_in(user):
    answer = user.client.post("/api/login", json={"username": "user7", "password": "12345"}, name="login")
    user.client.headers["Authorization"] = "Bearer " + answer.json()["token"]


class Basket(SequentialTaskSet):
    @task
    def order(self):
        answer = self.client.post("/api/orders", json={"product": 7, "quantity": 2}, name="order")
        orders.append(answer.json()["id"])

    @task
    def look(self):
        self.client.get("/api/orders", name="orders")
        self.interrupt()


class Shop(TaskSet):
    tasks = {Basket: 2}

    def on_start(self):
        self.client.get("/api/products", name="list")

    @task(3)
    def product(self):
        self.client.get(f"/api/products/{random.randint(1, 100)}", name="product")

    @task
    def leave(self):
        self.interrupt()


class Customer(HttpUser):
    wait_time = between(0.5, 1)
    on_start = log_in
    tasks = {Shop: 3}

    @task
    def front_page(self):
        self.client.get("/", name="front page")


class Warehouse(HttpUser):
    fixed_count = 1
    wait_time = constant(0.2)
    on_start = log_in

    @task
    def cancel(self):
        if not orders:
            return
        path = f"/api/orders/{orders.popleft()}"
        with self.client.delete(path, name="cancel", catch_response=True) as answer:
            if answer.text:
                answer.failure("a cancelled order says something")
        with self.client.get(path, name="cancelled", catch_response=True) as answer:
            if answer.status_code == 404:
                answer.success()
            else:
                answer.failure("the order is still there")
