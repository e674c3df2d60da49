-- find_change: one stock change.
-- In      item, number
-- Out     no, delta, taken, state, reason, by, at
SELECT no, delta, taken, state, reason, by, at FROM stock_changes WHERE item = $1 AND no = $2
