-- Shows OAuth 2 with client credentials: one token for all users of the process, and a new one before it expires.

plan { host = "demo:api", users = 3, run_time = "10s" }

local tokens = require("lgoose.shared").map "tokens"
local CLIENT_ID, CLIENT_SECRET = env("CLIENT_ID", "user7"), env("CLIENT_SECRET", "12345")

local function access_token(user)
  return tokens:get_or("access", function()
    local response = user:post("/oauth/token", nil, {
      name = "token",
      form = { grant_type = "client_credentials", scope = "orders" },
      auth = { CLIENT_ID, CLIENT_SECRET },
    })
    return response:ensure():json "access_token"
  end, "50m") -- less than its `expires_in`, an hour
end

scenario { "service", wait = 1,
  task { "orders", function(user)
    user:bearer(access_token(user))
    user:get("/api/orders", { expect = { status = 200 } })
  end },
}

-- lgoose examples/oauth.lua
