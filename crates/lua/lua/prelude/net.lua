-- user:tcp, user:tls and user:udp, which open sockets. A part of the prelude.

local host, H, fail, User = ...

local yield = yield
local CALL = host("op:call")

local function opens(kind)
  return function(_, address, options, more)
    if more ~= nil then fail(H.surplus(more)) end
    local ok, value = yield(CALL, H.connect(kind, address, options))
    if ok == nil then fail(value) end
    return value
  end
end

User.tcp, User.tls, User.udp = opens "tcp", opens "tls", opens "udp"
