-- Shows a language model that calls tools: this plan does each call, and its result goes back, until the model answers with a text.

local llm = require "lgoose.llm"

plan { host = "demo:llm", users = 3, run_time = "10s", thresholds = { ["POST answer"] = "first_event p95 < 1s" } }

local TOOLS = {
  {
    type = "function",
    ["function"] = {
      name = "weather",
      description = "The weather in a city",
      parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" } },
    },
  },
}

local run_tool = {
  weather = function(arguments) return { city = arguments.city, degrees = random.int(-10, 35) } end,
}

local function result_of(call)
  local ok, arguments = pcall(json.decode, call.arguments)
  check(ok and run_tool[call.name], "the model calls a tool that exists")
  local result = ok and run_tool[call.name] and run_tool[call.name](arguments) or { error = "no such tool" }
  return { role = "tool", tool_call_id = call.id, content = json.encode(result) }
end

task { "a question", wait = 1, function(user)
  local messages = { { role = "user", content = "How is the weather in " .. random.words(1) .. "?" } }
  for turn = 1, 5 do
    local answer = llm.chat(user, { model = "demo-fast", messages = messages, tools = TOOLS, name = turn == 1 and "question" or "answer", max_tokens = 32 })
    if not answer.ok or not answer.tool_calls then return end
    messages[#messages + 1] = answer.message
    for _, call in ipairs(answer.tool_calls) do messages[#messages + 1] = result_of(call) end
  end
end }

-- lgoose examples/tools.lua
