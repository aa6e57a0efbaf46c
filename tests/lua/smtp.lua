-- Mail over SMTP, to a real server: greetings, TLS, who the user is, and what is refused.

local test = require "test"
local same, raises = test.same, test.raises
local smtp = require "lgoose.smtp"

local TO = "ann@example.org"

task { "mails", sequence = 1, function(user)
  local server = smtp.connect(user, { hello = "load.test" })
  same(server.ok, true, server.error)
  same(server.extensions["8BITMIME"], "", "what it can do")
  same(server:send { from = "load@example.org", to = TO, subject = "plain", body = "one\n.two\n..\nthree\n" }, true, "sent")
  local many = { TO, "bob@example.org" }
  same(server:send { from = "load@example.org", to = many, subject = "Größe " .. ("ä"):rep(60), body = "Grüße\n" .. ("x"):rep(2000) }, true, "UTF-8")
  same(server:send { from = "", to = TO, headers = { ["X-Kind"] = "order" }, name = "kind" }, true, "nothing but a header")
  same(server:send { from = "load@example.org", to = TO, message = "Subject: own\n\n.\n.end" }, true, "as it is")
  local ok, problem = server:send { from = "load@example.org", to = { TO, "nobody@example.org" }, name = "refused" }
  same(ok, nil, "refused")
  same(problem, "550 5.1.1 no such mailbox", "says why")
  same(server:send { from = "load@example.org", to = TO, subject = "after" }, true, "the next one is accepted")
  server:quit()
  same(select(2, server:send { from = "a@example.org", to = TO, name = "closed" }), "closed early: the plan has closed the connection", "closed")
end }

task { "TLS", sequence = 2, function(user)
  local ann = { starttls = true, server_name = "judge.test", user = "ann", password = "secret" }
  local server = smtp.connect(user, ann)
  same(server.ok, true, server.error)
  same(server:send { from = "load@example.org", to = TO, subject = "secret" }, true, "sent")
  server:quit()
  ann.password = "wrong"
  server = smtp.connect(user, ann)
  same(server.ok, false, "somebody else")
  same(server.error:match "^535", "535", "says so")
  same(smtp.connect(user, { user = "ann", password = "secret" }).error, "the server offers neither AUTH PLAIN nor AUTH LOGIN", "not without TLS")
  same(smtp.connect(user, { starttls = true }).error, "tls: the certificate is not for '127.0.0.1'", "judged")
  same(smtp.connect(user, { address = "127.0.0.1:1", name = "nobody" }).error, "connection refused: 127.0.0.1:1", "no server")
end }

task { "mistakes", sequence = 3, function(user)
  local server = smtp.connect(user)
  raises("smtp.connect takes the user", smtp.connect)
  raises("unknown option 'adress'", smtp.connect, user, { adress = "x" })
  raises("either 'tls' or 'starttls'", smtp.connect, user, { tls = true, starttls = true })
  raises("unknown field 'text'", server.send, server, { text = "x" })
  raises("'from' must be a string", server.send, server, { to = TO })
  raises("'to' names nobody", server.send, server, { from = TO })
  raises("'to' is one line", server.send, server, { from = TO, to = "a>\r\nRSET" })
  raises("the subject is one line", server.send, server, { from = TO, to = TO, subject = "a\nBcc: b" })
  server:quit()
end }

task { "one at a time", sequence = 4, function(user)
  local server = smtp.connect(user)
  local mail = { from = "load@example.org", to = TO, subject = "beside", name = "beside" }
  local jobs = {}
  for n = 1, 2 do
    jobs[n] = user:spawn(function() return server:send(mail) end)
  end
  local sent, refused = 0, 0
  for _, job in ipairs(jobs) do
    local ok, problem = job:join()
    if ok then sent = sent + 1 end
    if problem and problem:match "^in use: another function" then refused = refused + 1 end
  end
  same(sent .. " " .. refused, "1 1", "another waits for a reply")
  same(server:send(mail), true, "then it is free")
  local cancelled = user:spawn(function() return server:send(mail) end)
  cancelled:cancel()
  server:quit()
end }
