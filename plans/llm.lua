-- Chats with a language model behind OpenAI's API, judged as such models are: the time to the first token (TTFT), the time between tokens
-- (ITL), and the share of requests that keep their limits (goodput). 'demo:llm' imitates a server; for one of your own:
--
--   lgoose plans/llm.lua -H http://localhost:8000 -e MODEL=meta-llama/Llama-3.1-8B-Instruct -e API_KEY=secret
--
-- So many users, each with one request at a time (closed load), and so many new requests a second, however slow the model gets (open load):
--
--   lgoose plans/llm.lua -u 16 -t 2m
--   lgoose plans/llm.lua --rate 4/s --max-users 200 -t 2m

local llm = require "lgoose.llm"

plan {
  host = "demo:llm",
  users = 4,
  run_time = "30s",
  thresholds = {
    "failures < 1%",
    ["POST chat"] = { "first_event p95 < 500ms", "event_gap p99 < 100ms" },
    ["chat goodput"] = "rate > 95%",
    ["chat output_tokens"] = "rate > 20/s",
  },
}

-- A request is good if it keeps all of these.
llm.limits { ttft = "300ms", tpot = "50ms" }

-- Prompts of 150 to 250 words. Those of a file: llm.prompts { file = "sharegpt.jsonl" }
local prompts = llm.prompts { input_tokens = 200, output_tokens = 60, spread = 0.25 }
local MODEL, API_KEY = env("MODEL", "demo"), env("API_KEY", nil)

task { "chat", wait = { 0.5, 1 }, function(user)
  if API_KEY then user:bearer(API_KEY) end
  local prompt = prompts:next()
  local answer = llm.chat(user, { model = MODEL, messages = prompt.messages, max_tokens = prompt.output_tokens })
  check(answer.ok and answer.text ~= "", "the model answers")
end }
