---One-time passwords that change with time (RFC 6238), as authenticator apps show them.
---
---    local totp = require "lgoose.totp"
---    user:post("/login/otp", nil, { form = { code = totp.code(user.data.secret) } })
---@class lgoose.totp
local totp = {}

---@class lgoose.totp.Options
---@field digits? integer # (default: 6)
---@field period? integer # seconds for which a password is valid (default: 30)
---@field hash? "sha1"|"sha256"|"sha512" # (default: "sha1")
---@field time? number # seconds since 1970 (default: now)

local OPTIONS = { digits = true, period = true, hash = true, time = true }
local HASHES = { sha1 = hash.hmac_sha1, sha256 = hash.hmac_sha256, sha512 = hash.hmac_sha512 }

---Returns the current password.
---@param secret string # in base32, as sites show it next to the QR code
---@param options? lgoose.totp.Options
---@return string
function totp.code(secret, options)
  options = options or {}
  for name in pairs(options) do
    if not OPTIONS[name] then
      error("totp.code: unknown option '" .. tostring(name) .. "'; options: digits, hash, period, time", 2)
    end
  end
  local digits, hmac = options.digits or 6, HASHES[options.hash or "sha1"]
  if not hmac then error("totp.code: option 'hash' is \"sha1\", \"sha256\" or \"sha512\"", 2) end
  if math.type(digits) ~= "integer" or digits < 1 or digits > 9 then error("totp.code: option 'digits' is from 1 to 9", 2) end
  local period, moment = options.period or 30, options.time or time.now()
  if math.type(period) ~= "integer" or period < 1 then
    error("totp.code: option 'period' is a whole number of seconds, at least 1, not " .. tostring(period), 2)
  end
  if type(moment) ~= "number" or not (moment >= 0 and moment < 2 ^ 53) then
    error("totp.code: option 'time' is a number of seconds since 1970, not " .. tostring(moment), 2)
  end
  if type(secret) ~= "string" then error("totp.code: the secret must be a string, not " .. type(secret), 2) end
  local counter = moment // period
  local mac = hmac(base32.decode(secret), string.pack(">i8", math.tointeger(counter)), "raw")
  -- RFC 4226, section 5.3: the last four bits are the offset of the number.
  local number = string.unpack(">I4", mac, (mac:byte(-1) & 15) + 1) & 0x7fffffff
  return ("%0" .. digits .. "d"):format(number % 10 ^ digits // 1 | 0)
end

return totp
