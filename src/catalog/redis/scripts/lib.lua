-- lib: what all scripts of the catalog share; it is put before each of them.
-- Keeps    a copy and its lease are one hash: at, fresh, of, text (when it was read, how long it is fresh, its change number, the sales);
--          lease, since, under (the lease, when it was given, its change number)

local KNOWN, LEASED, WAIT = 0, 1, 2

local function isCount(argument)
  return argument ~= nil and #argument <= 12 and argument:find('^%d+$') ~= nil
end

-- Is `now` less than `ms` after `since`? A `since` in the future was written by a clock that has been set back: no.
local function within(now, since, ms)
  since, ms = tonumber(since or ''), tonumber(ms or '')
  return since ~= nil and ms ~= nil and now >= since and now - since < ms
end

-- Removes a value of another type. It is not ours, and every script would fail on it.
local function removeUnless(kind, key)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
