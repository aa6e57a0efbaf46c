"""benches/tiny.lua for Locust: one page, whose status Locust checks by itself."""

from locust import FastHttpUser, task


class Tiny(FastHttpUser):
    @task
    def tiny(self):
        self.client.get("/")
