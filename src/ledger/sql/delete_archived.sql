-- delete_archived: deletes the next archived orders of a deleted sale, with their payments, the parts of their refunds, contact and metadata.
-- In      limit
-- Out     one row: orders, payments (how many were deleted), more (there may be others)
-- Keeps   only items of deleted sales; an item is taken off the list when nothing of it is left, so a process that dies leaves the rest listed
WITH first AS MATERIALIZED (SELECT item FROM deleted_items ORDER BY item LIMIT 1),
page AS MATERIALIZED (SELECT o.id FROM orders_archive o JOIN first ON first.item = o.item ORDER BY o.id LIMIT $1),
payments_gone AS (DELETE FROM payments_archive p USING page WHERE p.order_id = page.id RETURNING p.id),
parts_gone AS (DELETE FROM refund_parts r USING page WHERE r.order_id = page.id),
parcels_gone AS (DELETE FROM parcels p USING page WHERE p.order_id = page.id),
orders_gone AS (DELETE FROM orders_archive o USING page WHERE o.id = page.id RETURNING o.id),
done AS (DELETE FROM deleted_items d USING first WHERE d.item = first.item AND NOT EXISTS (SELECT 1 FROM page))
SELECT (SELECT count(*) FROM orders_gone) AS orders, (SELECT count(*) FROM payments_gone) AS payments, EXISTS (SELECT 1 FROM first) AS more
