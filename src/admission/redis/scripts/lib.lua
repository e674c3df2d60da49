-- lib: what all scripts of the limits share; it is put before each of them.
-- KEYS     none of its own; one text per key of a limit: base|began|edge:age,…|age,units;… with ages in ms before base
-- ARGV     none of its own; `readAsks` reads: now (0: the server's clock), edge, channel, then for each key count, windowMs, burst, edges,
--          kept, want, late, joins (-1: has joined already), joins × (ageMs, units)
-- Returns  nothing; answers are decoded in redis-shared-counts.ts
-- Keeps    everything is checked before the first write; every key has a lifetime

local NONE, FULL, WAITS, JOIN = 0, 1, 2, 3
local HEAD, FIXED, KEYS_MAX, SLICES = 3, 8, 512, 32
local FORGET_MS = 2000

-- A bug of the caller, found before the first write.
local function bug(message)
  return redis.error_reply('BUG ' .. message)
end

-- Lua prints large numbers with an exponent.
local function text(number)
  return string.format('%.0f', number)
end

-- A whole number in these bounds, or nil.
local function whole(argument, min, max)
  if not argument or #argument > 15 or not argument:find('^%-?%d+$') then return nil end
  local number = tonumber(argument)
  if number >= min and number <= max then return number end
end

local function nowMs()
  local given = whole(ARGV[1], 0, 1e14)
  if given ~= 0 then return given end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- All asks, or nil when an argument is invalid. `unitsMax`: the most in one slice that joins.
local function readAsks(unitsMax)
  if #KEYS < 1 or #KEYS > KEYS_MAX or not whole(ARGV[1], 0, 1e14) then return nil end
  if not (ARGV[2] or ''):find('^%x+$') or #ARGV[2] > 16 or not (ARGV[3] or ''):find('^[%w:]+$') then return nil end
  local asks, at = {}, HEAD
  for i = 1, #KEYS do
    local ask = {
      count = whole(ARGV[at + 1], 1, 1e9), windowMs = whole(ARGV[at + 2], 1, 86400000),
      burst = whole(ARGV[at + 3], 0, 1e9), edges = whole(ARGV[at + 4], 1, 1024), kept = whole(ARGV[at + 5], 0, 1e9),
      want = whole(ARGV[at + 6], 0, 1e9), late = whole(ARGV[at + 7], 0, 1e9), joins = whole(ARGV[at + 8], -1, SLICES),
    }
    for _, field in ipairs({ 'count', 'windowMs', 'burst', 'edges', 'kept', 'want', 'late', 'joins' }) do
      if not ask[field] then return nil end
    end
    at = at + FIXED
    ask.slices = {}
    for slice = 1, ask.joins do
      local age, units = whole(ARGV[at + 1], 0, 86400000), whole(ARGV[at + 2], 1, unitsMax)
      if not age or not units then return nil end
      ask.slices[slice] = { age = age, units = units }
      at = at + 2
    end
    asks[i] = ask
  end
  if at == #ARGV then return asks end
end

-- The state of a key: which edges have joined and when they last asked, and the slices by their time, oldest first.
-- `lifeMs`: an edge that asked longer ago has not joined; `spanMs`: older slices do not count.
local function readState(key, now, lifeMs, spanMs)
  local state = { now = now, began = 0, edges = {}, joined = 0, slices = {} }
  local base, began, edges, slices = (redis.call('GET', key) or ''):match('^(%d+)|(%d+)|([^|]*)|(.*)$')
  base = tonumber(base)
  -- The clock was set back by more than a second: the times mean nothing any more.
  if not base or base > now + 1000 then return state end
  state.now = math.max(now, base)
  state.began = base - tonumber(began)
  for edge, age in edges:gmatch('(%x+):(%d+)') do
    local at = base - tonumber(age)
    if state.now - at < lifeMs then
      state.edges[edge] = at
      state.joined = state.joined + 1
    end
  end
  for age, units in slices:gmatch('(%d+),(%d+);') do
    local at = base - tonumber(age)
    if state.now - at < spanMs then state.slices[#state.slices + 1] = { at = at, units = tonumber(units) } end
  end
  return state
end

local function writeState(key, state, lifeMs)
  local edges, slices = {}, {}
  for edge, at in pairs(state.edges) do edges[#edges + 1] = edge .. ':' .. text(state.now - at) end
  for i, slice in ipairs(state.slices) do slices[i] = text(state.now - slice.at) .. ',' .. text(slice.units) .. ';' end
  local value = { text(state.now), text(state.now - state.began), table.concat(edges, ','), table.concat(slices) }
  redis.call('SET', key, table.concat(value, '|'), 'PX', text(lifeMs))
end

-- Decides every ask of this call, one after the other. `admit(state, ask, joining)` counts what joins and what is granted, and returns how
-- many were granted, how many could be if all edges had joined, and for how long there is no room.
local function decide(spanOf, admit)
  local now, edge, channel = nowMs(), ARGV[2], ARGV[3]
  return function(asks)
    local replies, toJoin = {}, {}
    for i, ask in ipairs(asks) do
      local span = spanOf(ask)
      local life = span + FORGET_MS
      local state = readState(KEYS[i], now, life, span)
      local known, isNew = state.edges[edge], state.joined == 0
      if not known and ask.joins < 0 then
        replies[#replies + 1], replies[#replies + 2], replies[#replies + 3] = 0, JOIN, 0
      else
        if not known then state.joined = state.joined + 1 end
        state.edges[edge] = state.now
        ask.reserve = math.max(0, ask.edges - state.joined) * ask.kept
        local granted, more, untilMs = admit(state, ask, not known)
        local rest = NONE
        if granted < ask.want then rest = more > granted and WAITS or FULL end
        writeState(KEYS[i], state, life)
        if ask.edges > state.joined and (isNew or rest == WAITS) then toJoin[#toJoin + 1] = KEYS[i] end
        replies[#replies + 1], replies[#replies + 2], replies[#replies + 3] = granted, rest, untilMs
      end
    end
    if #toJoin > 0 then redis.call('PUBLISH', channel, edge .. ' ' .. table.concat(toJoin, ' ')) end
    return replies
  end
end
