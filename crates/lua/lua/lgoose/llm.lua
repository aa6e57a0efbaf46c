---Language models behind OpenAI's API, which vLLM, SGLang, llama.cpp, Ollama and many services have, or behind Anthropic's, with the
---usual figures: time to first token, time per output token, inter-token latency, tokens, goodput.
---
---    local llm = require "lgoose.llm"
---    local response = llm.chat(user, { model = "demo", messages = { { role = "user", content = "hello" } }, max_tokens = 128 })
---
---Each request is a row of the report and adds to metrics whose names start with its name: `chat ttft_ms`, `chat tpot_ms`, `chat itl_ms`, `chat e2e_ms`,
---`chat input_tokens`, `chat output_tokens`, and with limits `chat goodput`.
---@class lgoose.llm
local llm = {}

---@class lgoose.llm.Request
---@field model string
---@field max_tokens? integer # the maximum number of tokens of the response (default: up to the server)
---@field stream? boolean # whether the response comes token by token (default: true)
---@field name? string # the row of the report, and the start of the metrics' names (default: that of the function, such as "chat")
---@field path? string # (default: that of the API, such as "/v1/chat/completions")
---@field body? table<string, any> # additional fields of the request, such as temperature; { stream_options = false } leaves out the request for usage
---@field goodput? lgoose.llm.Limits # the limits of this request (default: those of `llm.limits`)
---@field headers? table<string, string|number|boolean>
---@field expect? lgoose.Expect # for a streamed response: its status and headers
---@field timeout? lgoose.Duration # for a streamed response: the longest time without a byte
---@field max_buffer? integer # bytes of a streamed response that may wait for the plan
---@field tags? table<string, string|number|boolean>

---@class lgoose.llm.ChatRequest: lgoose.llm.Request
---@field messages table[] # such as { { role = "user", content = "hello" } }
---@field tools? table[] # the tools that the model may call, as the API has them

---@class lgoose.llm.CompletionRequest: lgoose.llm.Request
---@field prompt string|string[]

---@class lgoose.llm.ResponseRequest: lgoose.llm.Request
---@field input string|table[] # a text, or a list of items
---@field tools? table[] # the tools that the model may call, as the API has them

---@class lgoose.llm.EmbeddingRequest
---@field model string
---@field input string|string[] # one text or several
---@field name? string # (default: "embeddings")
---@field path? string # (default: "/v1/embeddings")
---@field body? table<string, any> # additional fields of the request, such as dimensions
---@field goodput? lgoose.llm.Limits
---@field headers? table<string, string|number|boolean>
---@field expect? lgoose.Expect
---@field timeout? lgoose.Duration
---@field tags? table<string, string|number|boolean>

---Limits that a request must keep to count as good, in seconds or as "300ms".
---@class lgoose.llm.Limits
---@field ttft? lgoose.Duration
---@field tpot? lgoose.Duration
---@field e2e? lgoose.Duration

---The result of a request. Times are seconds from the start of the request.
---@class lgoose.llm.Result
---@field ok boolean # whether the request counts as a success
---@field error? string # why it failed
---@field status integer # 0 without a response
---@field id? string # the ID of the completion
---@field text string # the text received, also if the request failed
---@field reasoning? string # the reasoning of the model before the text
---@field refusal? string # the model's words if it refuses to answer
---@field tool_calls? lgoose.llm.ToolCall[] # the tools that the model wants called
---@field message? table # what to append to the messages to continue the conversation (`llm.chat`, `llm.message`)
---@field output? table[] # the items to append to the input to continue the conversation (`llm.response`)
---@field embeddings? number[][] # one for each text (`llm.embeddings`)
---@field finish_reason? string # "stop", "length", "tool_calls", "content_filter" … as the API has it
---@field usage? table<string, any> # as sent by the server
---@field input_tokens? integer # by usage
---@field output_tokens? integer # by usage, else the number of events with content
---@field tokens_by? "usage"|"events" # the source of output_tokens
---@field ttft? number # until the first event with content or reasoning
---@field ttfo? number # until the first event with content, after reasoning
---@field itl number[] # the times from one event with content or reasoning to the next
---@field tpot? number # (e2e - ttft) / (output_tokens - 1)
---@field e2e? number # until the last event with content; without streaming, until the last byte

---A call of a tool by the model. Respond with a message such as { role = "tool", tool_call_id = call.id, content = "12 degrees" }.
---@class lgoose.llm.ToolCall
---@field id? string
---@field name? string # of the tool
---@field arguments string # as JSON: `json.decode(call.arguments)`
---@field type string # "function", or "custom", whose arguments are any text

---A prompt to send.
---@class lgoose.llm.Prompt
---@field messages table[] # for `llm.chat`
---@field text string # for `llm.completion`
---@field output_tokens? integer # the number of tokens to request

---@class lgoose.llm.Prompts
---@field next fun(self: lgoose.llm.Prompts): lgoose.llm.Prompt

---@class lgoose.llm.Conversations
---@field next fun(self: lgoose.llm.Conversations): lgoose.llm.Conversation

---@class lgoose.llm.Conversation
---@field turns fun(self: lgoose.llm.Conversation): fun(): lgoose.llm.Turn? # iterates over its turns

---A turn of a conversation: what the user says, after all that was said before.
---@class lgoose.llm.Turn
---@field number integer # 1 for the first
---@field last boolean # whether it is the last one
---@field messages table[] # for `llm.chat`: all messages so far
---@field output_tokens? integer # the number of tokens to request
---@field reply fun(self: lgoose.llm.Turn, answer: lgoose.llm.Result) # has the next turn continue with this answer, instead of the reply of the data set

---@class lgoose.llm.PromptOptions
---@field file? string # JSON or JSON Lines next to the plan: rows of ShareGPT (`conversations`), or with `messages`, `prompt` or `text`
---@field order? "circular"|"random"|"unique"|"sequential" # of the rows (default: "circular")
---@field input_tokens? integer # generate prompts of about this many tokens, one for each word
---@field output_tokens? integer # request about this many tokens
---@field spread? number # how much the numbers of tokens vary, as a share from 0 to 1 (default: 0)

---@class lgoose.llm.ConversationOptions: lgoose.llm.PromptOptions
---@field turns? integer # the turns of each generated conversation (default: 3)

-- What the parts share, and how they load each other: `core.load` for now, `core.keep` for as long as the user is there.
local _, core = ...

-- Raises for a field that is not in the list, at the line that called the module's function: so many calls up from here.
function core.refuse_unknown(owner, what, options, fields, level, more)
  for name in pairs(options) do
    if not (", " .. fields .. ","):find(", " .. tostring(name) .. ",", 1, true) then
      error(("%s: unknown %s '%s'; %ss: %s%s"):format(owner, what, tostring(name), what, fields, more or ""), level)
    end
  end
end

---Sets the limits that a request must keep to count as good in the metric `… goodput`, for all requests of the plan. Call it at the top
---level of the file.
---@param given lgoose.llm.Limits
function llm.limits(given)
  core.limits = core.keep("requests").read_limits("llm.limits", given, 3)
end

---Sends messages and reads the response. A failure never raises an error: see `ok` and `error` of the result.
---@param user lgoose.User
---@param request lgoose.llm.ChatRequest
---@return lgoose.llm.Result
function llm.chat(user, request)
  local result = core.keep("requests").send("chat", user, request)
  return result
end

---Sends a prompt and reads the response, as `llm.chat` does with messages.
---@param user lgoose.User
---@param request lgoose.llm.CompletionRequest
---@return lgoose.llm.Result
function llm.completion(user, request)
  local result = core.keep("requests").send("completion", user, request)
  return result
end

---Sends an input to OpenAI's Responses API and reads the response. The conversation goes on with the `output` of the result, or with
---its `id` as `body = { previous_response_id = … }`.
---@param user lgoose.User
---@param request lgoose.llm.ResponseRequest
---@return lgoose.llm.Result
function llm.response(user, request)
  local result = core.keep("requests").send("response", user, request)
  return result
end

---Sends messages to Anthropic's Messages API and reads the response. The API wants `max_tokens`, and its key as a header:
---`headers = { ["x-api-key"] = env "KEY" }`.
---@param user lgoose.User
---@param request lgoose.llm.ChatRequest
---@return lgoose.llm.Result
function llm.message(user, request)
  local result = core.keep("requests").send("message", user, request)
  return result
end

---Sends texts and reads a vector for each, in `embeddings` of the result.
---@param user lgoose.User
---@param request lgoose.llm.EmbeddingRequest
---@return lgoose.llm.Result
function llm.embeddings(user, request)
  local result = core.keep("requests").send("embeddings", user, request)
  return result
end

---Returns prompts: those of a file, or generated ones of random words, the same again with the same seed. `prompts:next()` returns the
---next one. Call it at the top level of the file, so that workers get the file, too.
---@param options lgoose.llm.PromptOptions
---@return lgoose.llm.Prompts
function llm.prompts(options)
  return { next = core.load("prompts").prompts(options) }
end

---Returns conversations of several turns: those of a file, or generated ones. Call it at the top level of the file.
---
---    for turn in conversations:next():turns() do
---      turn:reply(llm.chat(user, { model = "demo", messages = turn.messages, max_tokens = turn.output_tokens }))
---    end
---@param options lgoose.llm.ConversationOptions
---@return lgoose.llm.Conversations
function llm.conversations(options)
  return { next = core.load("prompts").conversations(options) }
end

return llm
