---JSON Web Tokens (RFC 7519): created for a site that verifies them, or decoded when a site has issued them.
---
---    local jwt = require "lgoose.jwt"
---    user:bearer(jwt.encode({ sub = user.id, exp = os.time() + 300 }, env "JWT_SECRET"))
---@class lgoose.jwt
local jwt = {}

---@class lgoose.jwt.Options
---@field algorithm? "HS256"|"HS384"|"HS512"|"RS256"|"RS384"|"RS512"|"PS256"|"PS384"|"PS512"|"ES256"|"ES384"|"EdDSA" # (default: "HS256")
---@field header? table<string, any> # additional header fields, such as kid

local OPTIONS = { algorithm = true, header = true }
local SECRETS = { HS256 = hash.hmac_sha256, HS384 = hash.hmac_sha384, HS512 = hash.hmac_sha512 }

---Returns a token with these claims.
---@param claims table<string, any>
---@param key string # the secret of HS256, HS384 or HS512, else a private key in PEM (PKCS #8)
---@param options? lgoose.jwt.Options
---@return string
function jwt.encode(claims, key, options)
  options = options or {}
  for name in pairs(options) do
    if not OPTIONS[name] then error("jwt.encode: unknown option '" .. tostring(name) .. "'; options: algorithm, header", 2) end
  end
  if type(claims) ~= "table" then error("jwt.encode: the claims must be a table, not " .. type(claims), 2) end
  if type(key) ~= "string" then error("jwt.encode: the key must be a string, not " .. type(key), 2) end
  local algorithm = options.algorithm or "HS256"
  local head = { alg = algorithm, typ = "JWT" }
  for name, value in pairs(options.header or {}) do head[name] = value end
  local text = base64.encode(json.encode(head), "url") .. "." .. base64.encode(json.encode(claims), "url")
  local hmac = SECRETS[algorithm]
  local signature = hmac and hmac(key, text, "raw") or hash.sign(algorithm, key, text)
  return text .. "." .. base64.encode(signature, "url")
end

---Returns the claims and the header of a token. The signature is not verified: that is up to the site.
---@param token string
---@return table<string, any> claims
---@return table<string, any> header
function jwt.decode(token)
  local head, claims = tostring(token):match "^([^.]+)%.([^.]+)%.[^.]*$"
  if not head then error("jwt.decode: this is not a token: it does not have three parts separated by dots", 2) end
  return json.decode(base64.decode(claims)), json.decode(base64.decode(head))
end

return jwt
