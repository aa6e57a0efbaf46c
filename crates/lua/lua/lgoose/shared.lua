---State that users share while they run: a number that all of them count, values that one user makes and another takes,
---a token that one user gets for all. Values are copied, as in JSON: strings (UTF-8), numbers, booleans and tables of
---them. A name means the same object in the whole process, on all of its threads; in a run on workers, or of parts
---(`--part`), each process has its own. All values together may take 64 MiB.
---
---    local shared = require "lgoose.shared"
---    local orders = shared.queue "orders"
---
---Objects of `shared.run` are the same in the whole run, on all workers: each call waits for the manager, which keeps them.
---
---    local ids = shared.run.counter "ids"
---
---Shared state belongs to users: use it in tasks and events, not at the top level of the file.
---@class lgoose.shared
---@field counter fun(name: string): lgoose.shared.Counter # a number, 0 at first
---@field queue fun(name: string): lgoose.shared.Queue # values that are taken in the order in which they were put
---@field map fun(name: string): lgoose.shared.Map # values by key
---@field run lgoose.shared.Run # the same for the whole run, on all workers

---@class lgoose.shared.Run
---@field counter fun(name: string): lgoose.shared.Counter
---@field queue fun(name: string): lgoose.shared.Queue
---@field map fun(name: string): lgoose.shared.Map

---@class lgoose.shared.Counter
---@field incr fun(self: lgoose.shared.Counter, by?: integer): integer # adds (default: 1) in one step, and returns the sum: no two users get the same
---@field get fun(self: lgoose.shared.Counter): integer # the number as it is now

---@class lgoose.shared.Queue
---@field put fun(self: lgoose.shared.Queue, value: any) # puts a value at the end
---@field take fun(self: lgoose.shared.Queue, wait?: number|string): any # takes the first value, waiting for one at most so many seconds ("500ms", "1m"; default: 0); nil if there is none. A stop ends the waiting task, and nothing waits after it
---@field size fun(self: lgoose.shared.Queue): integer # the number of values

---@class lgoose.shared.Map
---@field put fun(self: lgoose.shared.Map, key: string|number, value: any, expires?: number|string) # stores a value, for so many seconds ("5m") if a time is given; nil removes it
---@field get fun(self: lgoose.shared.Map, key: string|number): any # nil if there is none, or it has expired
---@field get_or fun(self: lgoose.shared.Map, key: string|number, make: (fun(key: string|number): any), expires?: number|string): any # the value, or the function's return value: one user runs it, all others wait for it. If it raises an error, that user fails; then, or if it returns nil, the next user tries
---@field remove fun(self: lgoose.shared.Map, key: string|number, only?: any): boolean # removes a value, or only this value; returns whether it was there
---@field size fun(self: lgoose.shared.Map): integer # the number of values

-- The library itself is lgoose's own.
local _, library = ...

---@type lgoose.shared
return library
