-- PostgreSQL: values of all kinds, statements, transactions, notifications, and what goes wrong. Run against a real server, which judges
-- what it has received.

local test = require "test"
local same, raises = test.same, test.raises
local postgres = require "lgoose.postgres"

local function connected(user, options)
  local db = postgres.connect(user, options)
  same(db.ok, true, db.error)
  return db
end

-- Returns the value in the first row of a query.
local function value(db, sql, parameters)
  local rows, problem = db:query(sql, parameters, { name = "value" })
  if not rows then error(problem, 2) end
  return rows[1] and rows[1][rows.columns[1]]
end

-- Returns the code of the error that a query fails with.
local function code(db, sql, parameters)
  local rows, problem, parts = db:query(sql, parameters, { name = "refused" })
  same(rows, nil, "it fails")
  if not parts then return problem end
  same(problem, parts.code .. ": " .. parts.message, "the reason")
  return parts.code
end

-- Type, parameter, and what comes back; the text by which the server shows it follows where that is another.
local VALUES = {
  { "int2", -32768, -32768 },
  { "int4", 7, 7 },
  { "int4", "7", 7 },
  { "int4", 7.0, 7 },
  { "int8", math.maxinteger, math.maxinteger },
  { "int8", math.mininteger, math.mininteger },
  { "oid", 4294967295, 4294967295 },
  { "float8", 0.1, 0.1 },
  { "float8", 1 / 3, 1 / 3 },
  { "float8", 5e-324, 5e-324 },
  { "float8", 1.7976931348623157e308, 1.7976931348623157e308 },
  { "float8", 2 ^ 53 + 2, 2 ^ 53 + 2 },
  { "float8", -0.0, -0.0 },
  { "float8", math.huge, math.huge, "Infinity" },
  { "float8", -math.huge, -math.huge, "-Infinity" },
  { "float4", 0.5, 0.5 },
  { "numeric", "12345678901234567890.120", "12345678901234567890.120" },
  { "numeric", 0.1, "0.1" },
  { "numeric", 1e15, "1000000000000000" },
  { "bool", true, true, "true" },
  { "bool", false, false, "false" },
  { "text", "", "" },
  { "text", "gr\u{fc}n 'x' \\ \" $1 \u{1f986}\r\n\t", "gr\u{fc}n 'x' \\ \" $1 \u{1f986}\r\n\t" },
  { "varchar(2)", "abc", "ab" },
  { "char(3)", "a", "a  ", "a" },
  { "name", "a", "a" },
  { '"char"', "a", "a" },
  { "bytea", postgres.bytes "\0\1\xff\\", "\0\1\xff\\", "\\x0001ff5c" },
  { "bytea", "", "", "\\x" },
  { "json", '{"a": [1,  2]}', '{"a": [1,  2]}' },
  { "jsonb", '{"a":[1,  2]}', '{"a": [1, 2]}' },
  { "uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" },
  { "date", "2026-02-03", "2026-02-03" },
  { "timestamptz", "2026-02-03 04:05:06.5+02", "2026-02-03 02:05:06.5+00" },
  { "interval", "90 minutes", "01:30:00" },
  { "int[]", "{1,NULL,3}", "{1,NULL,3}" },
  { "inet", "::1/64", "::1/64" },
  { "point", "(1,2)", "(1,2)" },
  { "int4range", "[1,5)", "[1,5)" },
}

task { "values", sequence = 1, function(user)
  local db = connected(user, { parameters = { timezone = "UTC" } })
  for _, case in ipairs(VALUES) do
    local kind, sent, expected, shown = table.unpack(case)
    local sql = ("select $1::%s as value, ($1::%s)::text as shown"):format(kind, kind)
    for round = 1, 2 do
      local what = kind .. " " .. tostring(sent) .. " in round " .. round
      local row = assert(db:query(sql, { sent }, { name = "kind" }))[1]
      same(row.value, expected, what)
      same(math.type(row.value), math.type(expected), "kind of " .. what)
      if shown or type(expected) == "string" then
        same(row.shown, shown or expected, "the server's text of " .. what)
      elseif math.type(expected) == "integer" then
        same(row.shown, tostring(expected), "the server's text of " .. what)
      else
        same(tonumber(row.shown), expected, "the server's text of " .. what)
      end
    end
  end
  same(tostring(value(db, "select $1::float8", { 0 / 0 })), tostring(0 / 0), "no number")
  same(value(db, "select ($1::float8)::text", { -0.0 }), "-0", "the sign of zero")
  same(value(db, "select ($1::float8)::text", { 0.1 + 0.2 }), "0.30000000000000004", "the shortest text")
  db:query "set bytea_output = escape"
  same(value(db, [[select '\x0001415c5cff80'::bytea]]), "\0\1A\\\\\xff\x80", "bytea in its old form")
  same(value(db, [[select '\\x41'::bytea]]), "\\x41", "which looks like the new one")
  -- Nulls.
  local row = db:query("select $1::int as a, $2::text as b, $3::int as c", { nil, json.null, 3 })[1]
  same(row.a == nil and row.b == nil, true, "nil and json.null")
  same(row.c, 3, "behind them")
  row = db:query("select $1::int as a, $2::int as b", { 1, nil, n = 2 })[1]
  same(row.a == 1 and row.b == nil, true, "nil at the end")
  same(code(db, "select $1::int, $2::int", { 1, nil }), "08P01", "without the number of them")
  -- Many.
  local list, sums = {}, {}
  for i = 1, 2000 do
    list[i], sums[i] = i, "$" .. i .. "::int"
  end
  same(value(db, "select " .. table.concat(sums, "+"), list), 2001000, "many parameters")
  db:close()
end }

task { "statements", sequence = 2, function(user)
  local db = connected(user, { application_name = "tested" })
  same(value(db, "show application_name"), "tested", "its name")
  same(value(db, "show client_encoding"), "UTF8", "its encoding")
  same(value(db, "select pg_backend_pid()"), db.process, "its process")
  same(db.server.client_encoding, "UTF8", "what the server reports")
  local result = db:query "select 1 as a, 2 as b, 3 as a"
  same(json.encode(result), '[{"a":3,"b":2}]', "rows")
  same(table.concat(result.columns, " "), "a b a", "columns")
  same(result.command .. result.count .. tostring(result.results), "SELECT1nil", "what was done")
  result = db:query "create temp table t (a int); insert into t values (1), (2), (3); update t set a = 0 where a > 1; select a from t where a = 7"
  same(result.command .. result.count .. #result, "SELECT00", "the last one")
  same(#result.results, 4, "all")
  same(result.results[1].command .. result.results[1].count, "CREATE TABLE0", "a table")
  same(result.results[2].command .. result.results[2].count, "INSERT3", "rows that were inserted")
  same(result.results[3].command .. result.results[3].count, "UPDATE2", "rows that were changed")
  same(db:query("delete from t where a = $1", { 0 }).count, 2, "rows that were deleted")
  same(db:query("insert into t values ($1) returning a + 1 as b", { 6 })[1].b, 7, "what an insertion returns")
  same(db:query("").command, "", "nothing to do")
  same(#db:query("", {}), 0, "likewise prepared")
  same(value(db, "select"), nil, "no column")
  same(#db:query "select from generate_series(1, 3)", 3, "rows without columns")
  same(db:query("do $$ begin raise notice 'a'; raise warning 'b'; end $$").command, "DO", "notices are let go")
  same(value(db, "set application_name = 'other'; show application_name"), "other", "a setting")
  same(db.server.application_name, "other", "is reported")
  -- What is prepared.
  local few = connected(user, { statements = 3 })
  for round = 1, 2 do
    for i = 1, 10 do same(value(few, "select $1::int + " .. i, { round }), round + i, "in turns") end
  end
  same(value(few, "select count(*) from pg_prepared_statements"), 3, "no more are kept")
  local sql = "select $1::int as a"
  for i = 1, 5 do same(value(few, sql, { i }), i, "again and again") end
  same(value(few, "select generic_plans + custom_plans from pg_prepared_statements where statement = '" .. sql .. "'"), 5, "one statement")
  few:query "deallocate all"
  same(code(few, sql, { 1 }), "26000", "somebody has deallocated it")
  same(value(few, sql, { 2 }), 2, "then it is prepared anew")
  few:query "create temp table t (a int); insert into t values (1)"
  sql = "select * from t where a = $1"
  same(#few:query(sql, { 1 }).columns, 1, "a column")
  few:query "alter table t add b int default 2"
  same(code(few, sql, { 1 }), "0A000", "the columns have changed")
  same(few:query(sql, { 1 })[1].b, 2, "then it is prepared anew")
  same(code(few, "select $1::int / 0", { 1 }), "22012", "executed in vain")
  same(code(few, "selec $1", { 1 }), "42601", "prepared in vain")
  same(code(few, "selec $1", { 1 }), "42601", "again")
  same(code(few, "select $1::int", { "x" }), "22P02", "a wrong parameter")
  same(value(few, "select $1::int", { 5 }), 5, "a right one")
  local none = connected(user, { statements = 0 })
  for i = 1, 3 do same(value(none, "select $1::int", { i }), i, "each anew") end
  same(value(none, "select count(*) from pg_prepared_statements"), 0, "none is kept")
  none:close()
  few:close()
  db:close()
  same(select(2, db:query "select 1"), "closed early: the plan has closed the connection", "closed")
end }

task { "errors of the server", sequence = 3, function(user)
  local db = connected(user)
  db:query "create temp table t (id int constraint only_once primary key, positive int check (positive > 0))"
  same(db:query("insert into t values ($1, $2)", { 1, 1 }).count, 1, "once")
  local result, problem, parts = db:query("insert into t values ($1, $2)", { 1, 1 })
  same(result, nil, "twice")
  same(problem, '23505: duplicate key value violates unique constraint "only_once"', "the reason")
  same(parts.code .. parts.severity .. parts.constraint .. parts.table, "23505ERRORonly_oncet", "its parts")
  same(parts.detail, "Key (id)=(1) already exists.", "the detail")
  same(db.last_error, parts, "is kept")
  same(code(db, "insert into t values ($1, $2)", { 2, -1 }), "23514", "a check")
  same(code(db, "select * from none"), "42P01", "no such table")
  same(code(db, "select 1; select 1/0; select 2"), "22012", "one of several")
  same(code(db, "insert into t values (3, 3); select 1/0"), "22012", "which are one transaction")
  same(value(db, "select count(*) from t"), 1, "so nothing is left of it")
  same(code(db, "select $1::text", { "a\0b" }), "22021", "a zero byte")
  same(code(db, "select $1::text", { "\xff" }), "22021", "bytes that are no UTF-8")
  db:query "set statement_timeout = '20ms'"
  same(code(db, "select pg_sleep(10)"), "57014", "the server's own limit")
  same(db.ok, true, "harms nothing")
  for _, parameters in ipairs { false, {} } do
    for _, sql in ipairs { "copy t from stdin", "copy t to stdout" } do
      same(code(db, sql, parameters or nil), "COPY is not supported", sql)
      same(value(db, "select 1"), 1, "harms nothing")
    end
  end
end }

task { "transactions", sequence = 4, function(user)
  local db, other = connected(user), connected(user)
  db:query "drop table if exists orders; create table orders (id int primary key deferrable initially deferred)"
  local function insert(id) return db:query("insert into orders values ($1)", { id }) end
  local function count() return value(other, "select count(*) from orders") end
  local id, more = db:transaction(function(same_db)
    same(same_db, db, "the connection")
    insert(1)
    same(db.status, "open", "it is open")
    same(count(), 0, "nobody sees it")
    return 1, "two"
  end)
  same(id, 1, "what the function returns")
  same(more, "two", "all of it")
  same(db.status, "idle", "it is over")
  same(count(), 1, "all see it")
  same(db:transaction(function() insert(2) end), true, "nothing is returned")
  local done, problem = db:transaction(function()
    insert(3)
    return nil, "sold out"
  end)
  same(done, nil, "rolled back")
  same(problem, "sold out", "for this reason")
  raises("a mistake", db.transaction, db, function()
    insert(4)
    error "a mistake"
  end)
  same(db.status, "idle", "rolled back")
  done, problem = db:transaction(function()
    insert(5)
    db:query "select 1/0"
    same(db.status, "failed", "from now on")
    same(code(db, "select 1"), "25P02", "every statement fails")
    return "all is well"
  end)
  same(done, nil, "it is not")
  same(problem, "22012: division by zero", "because of its first error")
  same(db:transaction(function()
    db:query "savepoint s"
    same(code(db, "select 1/0"), "22012", "a mistake")
    db:query "rollback to s"
    return "saved"
  end), "saved", "which was undone")
  done, problem = db:transaction(function() insert(1) end)
  same(done, nil, "refused at the end")
  same(problem, '23505: duplicate key value violates unique constraint "orders_pkey"', "by what is checked then")
  same(db.status, "idle", "over as well")
  same(count(), 2, "nothing is left of those")
  local level = db:transaction(function()
    raises("a transaction is open on this connection", db.transaction, db, function() end)
    return value(db, "show transaction_isolation")
  end, { name = "serial", begin = "begin isolation level serializable" })
  same(level, "serializable", "as it was begun")
  done, problem = db:transaction(function() end, { begin = "begin nonsense" })
  same(done, nil, "not begun")
  same(problem, '42601: syntax error at or near "nonsense"', "says why")
  done, problem = db:transaction(function() value(other, "select pg_terminate_backend($1)", { db.process }) end)
  same(done, nil, "the connection is lost")
  same(problem, "57P01: terminating connection due to administrator command", "says why")
  done, problem = db:transaction(function() error "never called" end)
  same(done, nil, "there is none")
  same(problem, db.error, "says why")
  other:query "drop table orders"
end }

-- A plan may leave an iteration within a transaction.
task { "left open", sequence = 5, function(user)
  local db = user.data.left or connected(user)
  user.data.left = db
  if user.iteration == 1 then db:transaction(function() user:exit_iteration() end) end
  same(db.status, "open", "still open")
  same(db:transaction(function() return value(db, "select 1") end), 1, "the next begins anew")
  same(db.status, "idle", "over")
  user.data.left = nil
end }

-- What follows runs in the second iteration.
task { "notifications", sequence = 6, function(user)
  local db, feed = connected(user), connected(user, { name = "feed" })
  feed:query "listen news"
  same(select(2, feed:notified "20ms"), "timeout", "nothing yet")
  db:query("select pg_notify('news', $1)", { "first" })
  local news = feed:notified(5)
  same(news.channel .. " " .. news.payload .. " " .. (news.process - db.process), "news first 0", "a notification")
  same(select(2, feed:notified(0)), "timeout", "nothing more")
  db:query "notify news, 'second'; notify news; notify other"
  same(value(feed, "select 7"), 7, "a result is told from notifications")
  same(feed:notified(0).payload, "second", "kept")
  same(feed:notified(5).payload, "", "in order")
  same(select(2, feed:notified "20ms"), "timeout", "nothing more")
  local long = ("x"):rep(7999)
  local waiting = user:spawn(function() return feed:notified(5) end)
  while not feed.is_in_use do user:wait "5ms" end
  same(select(2, feed:query "select 1"):match "^in use: another function", "in use: another function", "one at a time")
  db:query("select pg_notify('news', $1)", { long })
  same(waiting:join().payload, long, "a long one")
  value(db, "select pg_terminate_backend($1)", { feed.process })
  same(select(2, feed:notified(5)), "57P01: terminating connection due to administrator command", "the end")
  same(feed.ok, false, "closed")
end }

task { "large results", sequence = 7, function(user)
  local db = connected(user)
  local rows = db:query("select i, i::text as t, null as n from generate_series(1, $1::int) i", { 20000 })
  same(#rows, 20000, "many rows")
  same(rows.count, 20000, "by the server's count")
  same(rows[20000].i, 20000, "the last one")
  same(rows[20000].t, "20000", "the last one")
  same(#value(db, "select repeat('x', 1000000)"), 1000000, "a long text")
  same(#value(db, "select $1::text", { ("x"):rep(1000000) }), 1000000, "there and back")
  same(#db:query("select repeat('x', 1000) as t from generate_series(1, 5000)"), 5000, "more than the buffer in all")
  same(code(db, "select repeat('x', 2000000)"), "too large: a message of the server is larger than 'max_buffer'", "a longer one")
  same(db.ok, false, "is not read")
  db = connected(user, { max_buffer = 4 << 20 })
  same(#value(db, "select repeat('x', 4000000)"), 4000000, "if there is room for it")
  db = connected(user, { max_buffer = 4096 })
  same(
    code(db, "do $$ begin for i in 1..1000 loop raise notice 'a'; end loop; end $$"),
    "too large: the server sends more than 'max_buffer' in addition to rows",
    "notices without end"
  )
end }

task { "ends", sequence = 8, function(user)
  local admin = connected(user)
  local db = connected(user, { timeout = "60ms" })
  same(code(db, "select pg_sleep(5)"), "timeout", "no result in time")
  same(db.ok, false, "its result may still come")
  same(select(2, db:query "select 1"), "timeout", "every query says it")
  db = connected(user)
  same(select(2, db:query("select pg_sleep(5)", nil, { timeout = "60ms" })), "timeout", "a limit of one query")
  db = connected(user)
  local slow = "select repeat('x', 1000), pg_sleep(0.01) from generate_series(1, 1000)"
  local result, problem, parts = db:query(slow, nil, { timeout = "100ms" })
  same(problem, "timeout", "rows that come one by one")
  db = connected(user)
  value(admin, "select pg_terminate_backend($1)", { db.process })
  result, problem, parts = db:query "select 1"
  same(result, nil, "ended while nothing was under way")
  same(problem, "57P01: terminating connection due to administrator command", "says why")
  same(parts and parts.severity, "FATAL", "its parts")
  same(db.ok, false, "closed")
  db = connected(user)
  local sleeping = user:spawn(function() return db:query "select pg_sleep(60)" end)
  while not db.is_in_use do user:wait "5ms" end
  same(select(2, db:query "select 1"):match "^in use: another function", "in use: another function", "one at a time")
  user:wait "20ms"
  value(admin, "select pg_terminate_backend($1)", { db.process })
  same(select(2, sleeping:join()), "57P01: terminating connection due to administrator command", "ended in the middle")
  db = connected(user)
  sleeping = user:spawn(function() return db:query "select pg_sleep(60)" end)
  while not db.is_in_use do user:wait "5ms" end
  user:wait "20ms"
  value(admin, "select pg_cancel_backend($1)", { db.process })
  same(select(2, sleeping:join()), "57014: canceling statement due to user request", "cancelled")
  same(value(db, "select 1"), 1, "harms nothing")
  same(
    select(2, postgres.connect(user, { address = "127.0.0.1:1", name = "nobody" }):query "select 1"),
    "connection refused: 127.0.0.1:1",
    "no server"
  )
end }

task { "mistakes", sequence = 9, function(user)
  local db = connected(user)
  raises("postgres.connect takes the user", postgres.connect)
  raises("unknown option 'adress'", postgres.connect, user, { adress = "x" })
  raises("option 'password' must be a string, not boolean", postgres.connect, user, { password = false })
  raises("option 'user' has a zero byte", postgres.connect, user, { user = "a\0b" })
  raises("option 'tls' is true, false or 'prefer'", postgres.connect, user, { tls = "require" })
  raises("option 'statements' is a whole number, at least 0, not -1", postgres.connect, user, { statements = -1 })
  raises("option 'max_buffer' is a whole number, at least 1024, not 1MiB", postgres.connect, user, { max_buffer = "1MiB" })
  raises("option 'parameters' has names and values", postgres.connect, user, { parameters = { "a" } })
  raises("option 'timeout' is a number of seconds", postgres.connect, user, { timeout = "soon" })
  raises("db:query: option 'timeout' is a number of seconds", db.query, db, "select 1", nil, { timeout = {} })
  raises("db:query takes a query", db.query, db)
  raises("db:query takes a query", db.query, db, "select 1\0")
  raises("the parameters are a list", db.query, db, "select $1", 7)
  raises("the parameters are a list", db.query, db, "select $1", { name = "row" })
  raises("unknown option 'nam'; options: name, timeout", db.query, db, "select 1", nil, { nam = "row" })
  raises("parameter 2 must be a string, a number, a boolean or nil, not table; write an array", db.query, db, "select $1", { 1, {} })
  raises("parameter 1 must be a string, a number, a boolean or nil, not function", db.query, db, "select $1", { print })
  raises("up to 65535 parameters", db.query, db, "select $1", { n = 65536 })
  raises("db:transaction takes a function", db.transaction, db, "begin")
  raises("unknown option 'isolation'; options: begin, name", db.transaction, db, print, { isolation = "serializable" })
  raises("option 'name' must be a string, not number", db.transaction, db, print, { name = 7 })
  same(value(db, "select 1"), 1, "nothing was sent")
end }
