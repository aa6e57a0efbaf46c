-- Shows following links: from the front page to one of the articles that it links to, as a reader does.

plan { host = "demo:drupal", users = 3, run_time = "10s" }

local function is_article(link)
  return link:find "/node/%d+$" ~= nil
end

scenario { "reader", wait = { 1, 3 },
  task { "follow a link", function(user)
    local links = user:get("/", { name = "front page" }):links(is_article)
    if #links == 0 then error "the front page links to no article" end
    user:wait(1, 2)
    user:get(random.choice(links), { name = "article", expect = { text = "</html>" } })
  end },
}

-- lgoose examples/links.lua
