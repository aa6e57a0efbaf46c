-- Chats and completions as OpenAI's API has them: what a chunk of a stream and a whole response say. A part of `lgoose.llm`.

local core = ...

local add, text_of, call_at = core.add, core.text_of, core.call_at
local ipairs, type = ipairs, type

-- Adds the content of a message: a text, or a list of parts.
local function add_content(parts, content)
  if type(content) ~= "table" then return add(parts, "text", content) end
  local has_text, has_reasoning = false, false
  for _, part in ipairs(content) do
    if type(part) == "table" then
      local thinking = part.thinking
      if type(thinking) == "table" then
        for _, inner in ipairs(thinking) do
          has_reasoning = add(parts, "reasoning", type(inner) == "table" and inner.text) or has_reasoning
        end
      end
      has_reasoning = add(parts, "reasoning", thinking) or has_reasoning
      has_text = add(parts, "text", part.text) or has_text
      has_text = add(parts, "refusal", part.refusal) or has_text
    end
  end
  return has_text, has_reasoning
end

-- Adds a part of a function's call.
local function add_function(call, part)
  if type(part) ~= "table" then return end
  call.name = call.name or text_of(part.name)
  if type(part.arguments) == "string" then call.arguments = call.arguments .. part.arguments end
end

-- Adds the calls of tools in a message; returns whether there are any.
local function add_calls(parts, message)
  local calls, has_calls = message.tool_calls, false
  if type(calls) == "table" then
    for at, part in ipairs(calls) do
      if type(part) == "table" then
        -- Whole messages have no index.
        local call = call_at(parts, part.index or at - 1)
        call.id = call.id or text_of(part.id)
        add_function(call, part["function"] or part.custom)
        if type(part.custom) == "table" then
          call.type = "custom"
          if type(part.custom.input) == "string" then call.arguments = call.arguments .. part.custom.input end
        end
        has_calls = true
      end
    end
  end
  if type(message.function_call) == "table" then
    local call = call_at(parts, 0)
    call.type = "function_call"
    add_function(call, message.function_call)
    has_calls = true
  end
  return has_calls
end

-- Adds a message or a part of one; returns whether it has output or reasoning.
local function add_message(parts, message)
  local has_text, has_reasoning = add_content(parts, message.content)
  has_text = add(parts, "refusal", message.refusal) or has_text
  has_reasoning = add(parts, "reasoning", message.reasoning_content) or add(parts, "reasoning", message.reasoning) or has_reasoning
  return add_calls(parts, message) or has_text, has_reasoning
end

-- Reads the choices of a chunk or a response. Of several the first is kept, but all are output.
local function read_choices(result, parts, choices, field)
  local has_output, has_reasoning = false, false
  for at, choice in ipairs(choices) do
    if type(choice) == "table" then
      local is_first = (choice.index or at - 1) == 0
      local own = is_first and parts or core.new()
      local message = choice[field]
      local output, reasoning
      if type(message) == "table" then
        output, reasoning = add_message(own, message)
      else
        output = add(own, "text", choice.text)
      end
      if is_first then result.finish_reason = text_of(choice.finish_reason) or result.finish_reason end
      has_output, has_reasoning = has_output or output, has_reasoning or reasoning
    end
  end
  return has_output, has_reasoning
end

local openai = {}

-- Reads an event of a stream; returns whether it has output, and whether it has reasoning.
function openai.event(result, parts, chunk)
  if type(chunk.usage) == "table" then result.usage = chunk.usage end
  result.id = result.id or text_of(chunk.id)
  if type(chunk.choices) ~= "table" then return false, false end
  return read_choices(result, parts, chunk.choices, "delta")
end

-- Whether an ended stream is complete; otherwise why not.
function openai.incomplete(result)
  if not result.finish_reason then return "the stream ended without a finish_reason and without [DONE]" end
end

-- Reads a whole response; returns whether it is one.
function openai.whole(result, parts, value)
  local choice = type(value.choices) == "table" and value.choices[1]
  if type(choice) ~= "table" or type(choice.message) ~= "table" and type(choice.text) ~= "string" then return false end
  if type(value.usage) == "table" then result.usage = value.usage end
  result.id = text_of(value.id)
  read_choices(result, parts, { choice }, "message")
  return true
end

-- Returns the message that continues the conversation.
function openai.message(result)
  local message = { role = "assistant", content = result.text ~= "" and result.text or json.null, refusal = result.refusal }
  for at, call in ipairs(result.tool_calls or {}) do
    if call.type == "function_call" then
      message.function_call = { name = call.name, arguments = call.arguments }
    else
      message.tool_calls = message.tool_calls or {}
      message.tool_calls[at] = call.type == "custom" and { id = call.id, type = "custom", custom = { name = call.name, input = call.arguments } }
        or { id = call.id, type = "function", ["function"] = { name = call.name, arguments = call.arguments } }
    end
  end
  return message
end

return openai
