-- items_to_forget: items of sales that are over and finally reconciled, which a gate may still have, in the order of their ids.
-- In      item id (those behind it), how long the final report has been there at least (ms), limit
-- Out     id, sale
SELECT i.id, i.sale FROM items i JOIN sales s ON s.id = i.sale JOIN reconciliations r ON r.sale = s.id AND r.final
WHERE i.id > $1::bigint AND i.epoch > 0 AND i.home_door = 'gate' AND i.forgotten_epoch IS DISTINCT FROM i.epoch
  AND s.state <> 'draft' AND (s.state = 'over' OR s.closes_at <= clock_timestamp())
  AND r.at <= clock_timestamp() - $2::bigint * interval '1 millisecond'
ORDER BY i.id
LIMIT $3
