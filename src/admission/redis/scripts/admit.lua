-- admit: admits, for each key, as many requests as its limit has room for, and lets an edge join.
-- KEYS     one text per key: base|began|edge:age,…|age,units;… with ages in ms before base. A bucket has one slice: what is used up
-- ARGV     now (0: the server's clock), edge, channel, then for each key count, windowMs, burst (0: a sliding window; else what the bucket
--          holds), edges, kept, want, late, joins (-1: has joined already), joins × (ageMs, units). A bucket's units are thousandths
-- Returns  for each key: granted, rest (NONE FULL WAITS JOIN), ms until there is room; decoded in redis-shared-counts.ts
-- Keeps    what is kept back for edges that have not joined included: in no window are more than `count` counted; of a bucket never more
--          than `burst` is used up, and `count` flow back over `windowMs`. Up to 32 admissions of a window are kept to the millisecond;
--          beyond that, neighbours within a 32nd of the window age together with the youngest

local NONE, FULL, WAITS, JOIN = 0, 1, 2, 3
local HEAD, FIXED, KEYS_MAX, SLICES, THOUSAND = 3, 8, 512, 32, 1000
local SLICES_MAX = 2 * SLICES + 1
local FORGET_MS = 2000

-- All asks, or nil when an argument is invalid.
local function readAsks()
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
    if ask.burst > ask.count then return nil end
    local unitsMax = ask.burst > 0 and 1e9 * THOUSAND or 1e9
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

-- What an edge reports when it joins is sorted in between.
local function join(slices, ask, now)
  for _, slice in ipairs(ask.slices) do
    if slice.age < ask.windowMs then slices[#slices + 1] = { at = now - slice.age, units = slice.units } end
  end
  table.sort(slices, function(a, b) return a.at < b.at end)
  while #slices > SLICES_MAX do
    local fewer = {}
    for i = 1, #slices, 2 do
      local one, next = slices[i], slices[i + 1]
      fewer[#fewer + 1] = next and { at = next.at, units = one.units + next.units } or one
    end
    slices = fewer
  end
  return slices
end

local function add(state, ask, units)
  local last = state.slices[#state.slices]
  if last and #state.slices >= SLICES and state.now - state.began < ask.windowMs / SLICES then
    last.units, last.at = last.units + units, state.now
  else
    state.slices[#state.slices + 1] = { at = state.now, units = units }
    state.began = state.now
  end
end

-- Both kinds count what joins and what is granted, and return how many were granted, how many could be if all edges had joined, and for
-- how long there is no room.
local function admitWindow(state, ask, joining)
  if joining then
    state.slices = join(state.slices, ask, state.now)
  elseif ask.late > 0 then
    add(state, ask, ask.late)
  end
  local used = 0
  for _, slice in ipairs(state.slices) do used = used + slice.units end
  local room = math.max(0, ask.count - used)
  local granted = math.max(0, math.min(ask.want, room - ask.reserve))
  if granted > 0 then add(state, ask, granted) end
  local oldest = state.slices[1]
  local untilMs = oldest and math.max(1, oldest.at + ask.windowMs - state.now) or 1
  return granted, math.min(ask.want, room), untilMs
end

local function admitBucket(state, ask, joining)
  local perMs = ask.count * THOUSAND / ask.windowMs
  local last = state.slices[1]
  local used = last and math.max(0, last.units - (state.now - last.at) * perMs) or 0
  if joining then
    for _, slice in ipairs(ask.slices) do used = used + math.max(0, slice.units - slice.age * perMs) end
  else
    used = used + ask.late * THOUSAND
  end
  used = math.min(used, ask.burst * THOUSAND)
  local room = ask.burst - used / THOUSAND
  local granted = math.max(0, math.min(ask.want, math.floor(room - ask.reserve)))
  local short = used + (granted + 1 - ask.burst) * THOUSAND
  -- Written only when something was taken: rounding up at every call would keep a slow bucket from ever being full.
  if granted > 0 or joining or ask.late > 0 then
    state.slices = { { at = state.now, units = math.ceil(used + granted * THOUSAND) } }
  end
  return granted, math.min(ask.want, math.floor(room)), math.max(1, math.ceil(short / perMs))
end

local asks = readAsks()
if not asks then return bug('admit: wrong arguments') end
local now, edge, channel = nowMs(), ARGV[2], ARGV[3]
local replies, toJoin = {}, {}
for i, ask in ipairs(asks) do
  local isBucket = ask.burst > 0
  -- How long an empty bucket takes to fill; no longer than the window.
  local span = isBucket and math.ceil(ask.burst * ask.windowMs / ask.count) or ask.windowMs
  local life = span + FORGET_MS
  local state = readState(KEYS[i], now, life, span)
  local known, isNew = state.edges[edge], state.joined == 0
  local granted, rest, untilMs, more = 0, JOIN, 0, 0
  if known or ask.joins >= 0 then
    if not known then state.joined = state.joined + 1 end
    state.edges[edge] = state.now
    ask.reserve = math.max(0, ask.edges - state.joined) * ask.kept
    granted, more, untilMs = (isBucket and admitBucket or admitWindow)(state, ask, not known)
    rest = granted == ask.want and NONE or more > granted and WAITS or FULL
    writeState(KEYS[i], state, life)
    if ask.edges > state.joined and (isNew or rest == WAITS) then toJoin[#toJoin + 1] = KEYS[i] end
  end
  replies[3 * i - 2], replies[3 * i - 1], replies[3 * i] = granted, rest, untilMs
end
if #toJoin > 0 then redis.call('PUBLISH', channel, edge .. ' ' .. table.concat(toJoin, ' ')) end
return replies
