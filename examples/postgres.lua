-- Shows a load on PostgreSQL: a small shop with a connection for each user, items by number, and orders in transactions.

local postgres = require "lgoose.postgres"

plan {
  host = "127.0.0.1:5432",
  users = 5,
  run_time = "10s",
  thresholds = { ["SQL item"] = "p95 < 100ms", ["SQL COMMIT"] = { "p95 < 200ms", "failures < 1%" } },
}

local function connect(user)
  return postgres.connect(user, { user = env("PGUSER", "postgres"), password = env("PGPASSWORD", ""), database = env("PGDATABASE", "postgres") })
end

on("test_start", function(user)
  local db = connect(user)
  local made, problem = db:query [[
    drop table if exists lgoose_orders, lgoose_items;
    create table lgoose_items as select id, 'item ' || id as name, 1000 as stock from generate_series(1, 1000) id;
    alter table lgoose_items add primary key (id);
    create table lgoose_orders (id serial primary key, item int references lgoose_items, amount int)]]
  if not made then run.stop(problem) end
  db:close()
end)

task { "connect", on_start = true, function(user) user.data.db = connect(user) end }

task { "look", weight = 9, wait = { 0.05, 0.1 }, function(user)
  local id = random.int(1, 1000)
  local rows = user.data.db:query("select name, stock from lgoose_items where id = $1", { id }, { name = "item" })
  check(rows and rows[1].name == "item " .. id, "the item is there")
end }

task { "buy", wait = { 0.05, 0.1 }, function(user)
  local id, amount = random.int(1, 1000), random.int(1, 3)
  user.data.db:transaction(function(db)
    db:query("update lgoose_items set stock = stock - $2 where id = $1", { id, amount }, { name = "stock" })
    db:query("insert into lgoose_orders (item, amount) values ($1, $2)", { id, amount }, { name = "order" })
  end, { name = "order in stock" })
end }

task { "leave", on_stop = true, function(user) user.data.db:close() end }

-- lgoose examples/postgres.lua
