"""plans/drupal.lua for Locust, request for request: the same weights, checks and assets.

Locust itself ends with 1 when a request failed.
"""

import re
from random import randint

from locust import FastHttpUser, task

PASSWORD = "12345"
SUBJECT = "this is a test comment subject"
COMMENT = "this is a test comment body"

# Scripts, images and imported stylesheets.
ASSET = re.compile(r'(?:src="|@import url\(")([^"]*)')
BUILD_ID = re.compile(r'name="form_build_id" value="(.*?)"')
TOKEN = re.compile(r'name="form_token" value="(.*?)"')


class Visitor(FastHttpUser):
    abstract = True

    @task(15)
    def front_page(self):
        with self.client.get("/", catch_response=True) as page:
            html = page.text
            if "<title>Welcome" not in html:
                page.failure("not the front page")
        for address in ASSET.findall(html):
            # Where Drupal 7 keeps those that the plan loads.
            if "/misc/" in address or "/themes/" in address:
                self.client.get(address, name="static asset")

    @task(10)
    def node_page(self):
        self.client.get(f"/node/{randint(1, 9999)}", name="node page")

    @task(3)
    def user_page(self):
        self.client.get(f"/user/{randint(2, 5000)}", name="user page")


class AnonBrowsingUser(Visitor):
    weight = 4


class AuthBrowsingUser(Visitor):
    weight = 1

    def on_start(self):
        build_id = BUILD_ID.search(self.client.get("/user").text)
        form = {
            "name": f"user{randint(3, 5001)}",
            "pass": PASSWORD,
            "form_build_id": build_id[1],
            "form_id": "user_login",
            "op": "Log in",
        }
        with self.client.post("/user", data=form, catch_response=True) as page:
            if 'id="user-login' in page.text:
                page.failure("not logged in")

    @task(3)
    def post_comment(self):
        nid = randint(1, 9999)
        html = self.client.get(f"/node/{nid}", name="node page").text
        form = {
            "subject": SUBJECT,
            "comment_body[und][0][value]": COMMENT,
            "comment_body[und][0][format]": "filtered_html",
            "form_build_id": BUILD_ID.search(html)[1],
            "form_token": TOKEN.search(html)[1],
            "form_id": "comment_node_article_form",
            "op": "Save",
        }
        address = f"/comment/reply/{nid}"
        with self.client.post(address, data=form, name="comment form", catch_response=True) as page:
            if "Your comment has been posted" not in page.text or COMMENT not in page.text:
                page.failure("the comment was not posted")
