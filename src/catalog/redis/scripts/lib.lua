-- lib: the words all scripts of the catalog share; it stands before each of them.
-- KEYS     none of its own
-- ARGV     none of its own
-- Returns  nothing
-- Keeps    a copy and its lease are one hash: at, fresh, of, text (read when, known for how long, under which number of changes, what);
--          lease, since, under (whose, from when on, under which number)

local KNOWN, YOURS, WAIT = 0, 1, 2

-- A bug of the caller, found before the first write.
local function bug(message)
  return redis.error_reply('BUG ' .. message)
end

local function isCount(argument)
  return argument ~= nil and #argument <= 12 and argument:find('^%d+$') ~= nil
end

local function nowMs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Has this much time not yet passed since then? A moment that lies ahead was written by a clock that has been set back.
local function within(now, since, ms)
  since, ms = tonumber(since or ''), tonumber(ms or '')
  return since ~= nil and ms ~= nil and now >= since and now - since < ms
end

-- What somebody else has put where a copy or the number should be is thrown out: it would be in everybody's way, and a copy is never
-- the only one.
local function throwOutUnless(kind, key)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
