-- The password, as the server requires it. A part of `lgoose.postgres`.

local core = ...

local find, match, sub, pack, unpack = string.find, string.match, string.sub, string.pack, string.unpack
local pcall, tonumber, tostring = pcall, tonumber, tostring
local messages = core.keep "messages"
local broken, message, BROKEN = messages.broken, messages.message, messages.BROKEN

local function send_password(db, text)
  local sent, problem = db.socket:send(message("p", text))
  if not sent then return broken(db, problem) end
  return true
end

-- The password as it was derived last: it takes thousands of digests, and all connections of a user derive the same.
local derived = core.derived or {}
core.derived = derived

local function derive(password, salt, iterations)
  local key = pack("s4s4I4", password, salt, iterations)
  if derived.key ~= key then
    derived.key, derived.value = key, hash.pbkdf2(password, salt, iterations, "raw")
  end
  return derived.value
end

-- SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
local function scram(db, read_login, password, mechanisms)
  if not find("\0" .. mechanisms, "\0SCRAM-SHA-256\0", 1, true) then
    return broken(db, "login: the server requires " .. match(mechanisms, "^[%w-]*") .. ", which is not supported; SCRAM-SHA-256 is")
  end
  local nonce = base64.encode(random.bytes(18))
  local first = "n=,r=" .. nonce
  if not send_password(db, "SCRAM-SHA-256\0" .. pack(">s4", "n,," .. first)) then return nil, db.error end
  local method, challenge = read_login(db)
  if not method then return nil, challenge end
  local both, salt, iterations = match(challenge, "^r=([^,]*),s=([^,]*),i=(%d+)")
  local is_valid, bytes = pcall(base64.decode, salt)
  iterations = math.tointeger(tonumber(iterations))
  if method ~= 11 or not is_valid or sub(both, 1, #nonce) ~= nonce or #both == #nonce or not iterations or iterations < 1 then
    return broken(db, BROKEN)
  end
  if iterations > 2000000 then return broken(db, "login: the server requires " .. iterations .. " iterations of SCRAM; 2000000 are possible") end
  local salted, hmac = derive(password, bytes, iterations), hash.hmac_sha256
  local last = "c=biws,r=" .. both
  local signed = first .. "," .. challenge .. "," .. last
  local key = hmac(salted, "Client Key", "raw")
  local a, b, c, d = unpack("i8i8i8i8", key)
  local e, f, g, h = unpack("i8i8i8i8", hmac(hash.sha256(key, "raw"), signed, "raw"))
  if not send_password(db, last .. ",p=" .. base64.encode(pack("i8i8i8i8", a ~ e, b ~ f, c ~ g, d ~ h))) then return nil, db.error end
  local signature
  method, signature = read_login(db)
  if not method then return nil, signature end
  if method ~= 12 then return broken(db, BROKEN) end
  if match(signature, "^v=([^,]*)") ~= base64.encode(hmac(hmac(salted, "Server Key", "raw"), signed, "raw")) then
    return broken(db, "login: the server does not know the password: its signature is wrong")
  end
  return true
end

local METHODS = { [2] = "Kerberos V5", [6] = "SCM credentials", [7] = "GSSAPI", [9] = "SSPI" }

-- Says who the user is, as the server requires it.
return function(db, read_login)
  local options, method, data = db.options, read_login(db)
  if method == 3 or method == 5 or method == 10 then
    local password, sent, problem = options.password, nil, nil
    if not password then return broken(db, "login: the server requires a password: set option 'password'") end
    if method == 10 then
      sent, problem = scram(db, read_login, password, data)
    elseif method == 5 then
      sent, problem = send_password(db, "md5" .. hash.md5(hash.md5(password .. db.account) .. data) .. "\0")
    else
      sent, problem = send_password(db, password .. "\0")
    end
    if not sent then return nil, problem end
    method, data = read_login(db)
  end
  if method == 0 then return true end
  if not method then return nil, data end
  return broken(db, "login: the server requires a method that is not supported: " .. (METHODS[method] or tostring(method)))
end
