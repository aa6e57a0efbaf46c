-- user:grpc and user:grpc_stream, and server reflection. A part of the prelude.

local host, H, fail, User, receive = ...

local yield = yield
local GRPC, END_STREAM = host("op:grpc"), host("op:end_stream")
local plan, adopt, take = H.grpc_plan, H.grpc_adopt, H.grpc_take

-- Sends a call with its whole request, and waits for its end.
local function unary(planned)
  local call = receive(yield(GRPC, planned))
  adopt(call, planned)
  take(call)
  yield(END_STREAM, call)
  return call
end

-- Reflection -----------------------------------------------------------------------------------------------

local SERVICES = { "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection" }

local function ask(service, request, statuses)
  local options = { name = "grpc reflection", expect = { status = statuses } }
  return unary((plan("reflection", service .. "/ServerReflectionInfo", request, options)))
end

-- The statuses of calls that may succeed at another time.
local PASSING = { CANCELLED = true, DEADLINE_EXCEEDED = true, ABORTED = true, UNAVAILABLE = true, RESOURCE_EXHAUSTED = true }

-- Adds the files that a server returns for a request. Returns the failed call if it may succeed at another time, or else the reason for
-- which there are none.
local function add_files(service, request, files)
  local call = ask(service, request)
  if not call.ok then
    if PASSING[call.status] then return call end
    return nil, call.error
  end
  local described = call.message.file_descriptor_response
  if not described then
    local refused = call.message.error_response
    return nil, refused and refused.error_message or "it has no description"
  end
  for _, file in ipairs(described.file_descriptor_proto) do
    files[#files + 1] = file
  end
end

-- Requests the files of all services of a server. Returns the failed call, if one has failed.
local function reflect(server)
  local service = SERVICES[1]
  local list = ask(service, { list_services = "*" }, { "OK", "UNIMPLEMENTED" })
  if list.status == "UNIMPLEMENTED" then
    service = SERVICES[2]
    list = ask(service, { list_services = "*" })
  end
  if not list.ok then return list end
  local files, requested, undescribed = {}, {}, {}
  local services = list.message.list_services_response
  for _, one in ipairs(services and services.service or {}) do
    local failed, why = add_files(service, { file_containing_symbol = one.name }, files)
    if failed then return failed end
    undescribed[one.name] = why
  end
  while true do
    local distinct, missing = H.missing_files(files)
    files = distinct
    local is_new = false
    for _, name in ipairs(missing) do
      if not requested[name] then
        requested[name], is_new = true, true
        -- Nothing of it may be needed.
        local failed = add_files(service, { file_by_filename = name }, files)
        if failed then return failed end
      end
    end
    if not is_new then break end
  end
  H.keep_schema(server, files, undescribed)
end

-- Of the users of a process, one queries a server, and the others wait for it.
local reflections
local function described(server)
  reflections = reflections or host("global:require")("lgoose.shared").map("lgoose: grpc reflection")
  local failed
  reflections:get_or(server, function()
    failed = reflect(server)
    if not failed then return true end
  end)
  return failed
end

-- Calls ----------------------------------------------------------------------------------------------------

local function planned(kind, method, message, options)
  local call, server = plan(kind, method, message, options)
  if call then return call end
  local failed = described(server)
  if failed then return nil, failed end
  call, server = plan(kind, method, message, options)
  if not call then fail("the server " .. server .. " describes no services") end
  return call
end

function User.grpc(_, method, message, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  local call, failed = planned("unary", method, message, options)
  return failed or unary(call)
end

function User.grpc_stream(_, method, options, more)
  if more ~= nil then fail(H.surplus(more)) end
  local of, failed = planned("stream", method, nil, options)
  if failed then return failed end
  local call = receive(yield(GRPC, of))
  adopt(call, of)
  -- One that was not opened has ended.
  if call.status then yield(END_STREAM, call) end
  return call
end
