-- lib: what all scripts share; its text is put before each of them.
-- KEYS     none of its own; every key of an item carries its hash tag, so a script may build the name of one from another
-- ARGV     none of its own
-- Returns  nothing; statuses and codes are decoded in replies.ts
-- Keeps    E1: `selling` gives the state of an epoch only on the server and in the history it was activated in. Ids stay strings.

local DONE, STALE, OK, EARLY, OVER, PAUSED, BUSY, GAP, PAST, HELD = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
local SAFE_MAX = 9007199254740991
-- How long a refusal for want of units is remembered in a shard.
local WANTED_MS = 2000
-- As in step-back.ts.
local STEP_BACK_MS_MAX = 2000

local function isWhole(argument)
  if not argument or #argument > 17 or not argument:find('^%-?%d+$') then return false end
  local number = tonumber(argument)
  return number <= SAFE_MAX and number >= -SAFE_MAX
end

local function isCount(argument)
  return isWhole(argument) and tonumber(argument) >= 0
end

-- From 1 on and written in one way only: compared as text. The asks of a batch hold few different ones.
local numbers = {}
local function isNumber(argument)
  if not argument then return false end
  local known = numbers[argument]
  if known == nil then
    known = isWhole(argument) and argument:find('^[1-9]') ~= nil
    numbers[argument] = known
  end
  return known
end

local function isId(argument)
  if not argument or #argument > 19 or not argument:find('^[1-9]%d*$') then return false end
  return #argument < 19 or argument <= '9223372036854775807'
end

-- 128 characters of UTF-16 are at most 384 bytes.
local function isBuyer(argument)
  return argument ~= nil and #argument >= 1 and #argument <= 384
end

-- {item}:gate → {item}:<epoch>:<what>
local function keyOf(gateKey, epoch, what)
  return gateKey:sub(1, -5) .. text(epoch) .. ':' .. what
end

-- {item}:gate → {item}:copied, the cursors of a relay: epoch → entry and position.
local function copiedKey(gateKey)
  return gateKey:sub(1, -5) .. 'copied'
end

-- Is the first id of a stream at or before the second? Both are ms-no; the parts are compared as numbers.
local function isUpTo(id, last)
  local ms, no = id:match('^(%d+)%-(%d+)$')
  local lastMs, lastNo = last:match('^(%d+)%-(%d+)$')
  ms, no, lastMs, lastNo = tonumber(ms), tonumber(no), tonumber(lastMs), tonumber(lastNo)
  return ms < lastMs or (ms == lastMs and no <= lastNo)
end

local function isEntryId(argument)
  return argument ~= nil and #argument <= 41 and argument:find('^%d+%-%d+$') ~= nil
end

-- One of several shards of its item, by its name: {item#3}:gate
local function isShard(gateKey)
  return gateKey:find('#', 1, true) ~= nil
end

-- The process and the history of its data: a restart changes the first, a failover or a fail-back the second (E1). Neither changes while a
-- script runs, so it is read once.
local thisServer
local function identity()
  if not thisServer then
    local info = redis.call('INFO', 'server', 'replication')
    thisServer = info:match('run_id:(%x+)') .. ' ' .. info:match('master_replid:(%x+)')
  end
  return thisServer
end

local FIELDS = {
  'seen', 'fenced', 'fencedOn', 'epoch', 'server', 'version', 'left', 'held', 'state', 'opens', 'closes', 'changeNo',
  'changesFrom', 'attemptsMax', 'loading', 'loadedOn', 'loadedHeld', 'clock', 'judged', 'wordNo',
}
local TEXTS = { fencedOn = true, server = true, state = true, loadedOn = true, judged = true }

-- The item at the gate: `seen` and `fenced` are numbers, everything else may be nil.
local function readGate(gateKey)
  local values = redis.call('HMGET', gateKey, unpack(FIELDS))
  local gate = {}
  for i, field in ipairs(FIELDS) do
    if values[i] then gate[field] = TEXTS[field] and values[i] or tonumber(values[i]) end
  end
  gate.seen = gate.seen or 0
  gate.fenced = gate.fenced or 0
  return gate
end

-- May this epoch (or, without one, the active epoch) sell here and now? (E1, E8)
local function selling(gate, epoch, server)
  if not gate.epoch or gate.epoch < gate.fenced then return false end
  if epoch and gate.epoch ~= epoch then return false end
  return gate.server == (server or identity())
end

-- A clock that is a little behind what the item has seen counts as standing still: a failover must not open again what is over. Further
-- behind, it was wrong before and has been set right.
local function outwaitStepBack(seen, now)
  if seen and now < seen and seen - now <= STEP_BACK_MS_MAX then return seen end
  return now
end

-- The gate's clock: the server's, moved by a test's offset; where an item has seen one, it does not step back from that.
local function nowMs(offset, clock)
  return outwaitStepBack(clock, serverMs() + offset)
end

-- What a buyer's field holds: attempt,order,quantity,live,reservedAtMs; for each attempt.
local function unpackAttempts(packed)
  local attempts = {}
  if packed then
    for attempt, order, quantity, live, at in packed:gmatch('(%d+),(%d+),(%d+),([01]),(%-?%d+);') do
      attempts[#attempts + 1] = { attempt = attempt, order = order, quantity = quantity, live = live == '1', at = at }
    end
  end
  return attempts
end

local function packAttempts(attempts)
  local parts = {}
  for i, one in ipairs(attempts) do
    parts[i] = table.concat({ one.attempt, one.order, one.quantity, one.live and '1' or '0', one.at }, ',') .. ';'
  end
  return table.concat(parts)
end

-- What answers an ask without taking anything: the attempt itself, else the buyer's live one.
local function existing(attempts, attempt)
  local live
  for i, one in ipairs(attempts) do
    if one.attempt == attempt then return one, i end
    if one.live then live = one end
  end
  return live
end

-- One command on many arguments, in slices that fit Lua's stack; `width` arguments belong together.
local function callInSlices(command, key, arguments, width)
  local size = 1000 * width
  if #arguments == 0 then return {} end
  if #arguments <= size then return redis.call(command, key, unpack(arguments)) end
  local replies = {}
  for from = 1, #arguments, size do
    local reply = redis.call(command, key, unpack(arguments, from, math.min(from + size - 1, #arguments)))
    if type(reply) == 'table' then
      for _, value in ipairs(reply) do replies[#replies + 1] = value end
    end
  end
  return replies
end

-- The book of some buyers, read once and changed here: what several records of one call do to one buyer adds up.
local function readBook(buyersKey, buyers)
  local packed = callInSlices('HMGET', buyersKey, buyers, 1)
  local book = {}
  for i, buyer in ipairs(buyers) do
    if not book[buyer] then book[buyer] = unpackAttempts(packed[i]) end
  end
  return book
end

-- Writes the buyers named in `changed`; a buyer without attempts is forgotten.
local function writeBook(buyersKey, book, changed)
  local set, gone = {}, {}
  for buyer in pairs(changed) do
    if #book[buyer] == 0 then
      gone[#gone + 1] = buyer
    else
      set[#set + 1] = buyer
      set[#set + 1] = packAttempts(book[buyer])
    end
  end
  callInSlices('HSET', buyersKey, set, 2)
  callInSlices('HDEL', buyersKey, gone, 1)
end

-- Stock has changed without a reservation: the message of one, without buyers. Edges read the item's status; older ones take its figures.
local function publishStock(channel, gateKey, epoch, version, left)
  redis.call('PUBLISH', channel, '{"kind":"reserved","item":"' .. gateKey:match('{(.-)}') .. '","epoch":' .. text(epoch)
    .. ',"version":' .. text(version) .. ',"left":' .. text(left) .. ',"buyers":[]}')
end

local function unlinkBook(gateKey, epoch)
  redis.call('UNLINK', keyOf(gateKey, epoch, 'buyers'), keyOf(gateKey, epoch, 'orders'))
end

-- The oldest entries of the lowest epoch that has any, at least one if there is one, for the one worker that has the lease. `from` says where
-- an epoch's reading begins.
local function takeEntries(workerKey, outboxesKey, gateKey, worker, leaseMs, asksMax, from)
  local holder = redis.call('GET', workerKey)
  local leftMs = holder and redis.call('PTTL', workerKey) or 0
  if holder and holder ~= worker and leftMs <= leaseMs then return { HELD } end
  local renew = holder ~= worker or leftMs < leaseMs / 2 or leftMs > leaseMs

  local epochs = {}
  for _, epoch in ipairs(redis.call('HKEYS', outboxesKey)) do epochs[#epochs + 1] = tonumber(epoch) end
  table.sort(epochs)
  for nth, epoch in ipairs(epochs) do
    local outboxKey = keyOf(gateKey, epoch, 'outbox')
    local reply, asks, first = { OK, nth < #epochs and 1 or 0, epoch }, 0, from(epoch)
    repeat
      local entries = redis.call('XRANGE', outboxKey, first, '+', 'COUNT', 32)
      for _, entry in ipairs(entries) do
        -- 'at' at 'count' n 'pieces' p 'asks' …; a malformed entry counts as one.
        local count = isNumber(entry[2][4]) and tonumber(entry[2][4]) or 1
        if asks > 0 and asks + count > asksMax then
          entries = {}
          reply[2] = 1
          break
        end
        asks = asks + count
        reply[#reply + 1] = entry
        first = '(' .. entry[1]
      end
    until #entries < 32
    if asks > 0 then
      if renew then redis.call('SET', workerKey, worker, 'PX', text(leaseMs)) end
      return reply
    end
  end
  return { OK, 0 }
end

-- Is this epoch's beginning on this server the one its keeper made? Not after a restart, a failover or a FLUSHALL in between (E1).
local function goesOn(gate, epoch, begun, server)
  if begun and gate.seen ~= epoch then return false end
  if gate.fenced == epoch and gate.fencedOn ~= server then return false end
  return gate.loading ~= epoch or gate.loadedOn == server
end
