-- recall_item: brings the next archived orders of an item back, with their payments; when none is left, the item can be sold again.
-- In      item, limit
-- Out     true: it had orders in the archive, and may have more. False: nothing of it is there, it can be sold
-- Keeps   each order and payment is in one of the two tables; `archive` is NULL only when the archive has no order of the item
-- Locks   the item row first, then orders

CREATE OR REPLACE FUNCTION recall_item(p_item bigint, p_max int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  page bigint[];
BEGIN
  PERFORM 1 FROM items WHERE id = p_item AND archive IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  page := ARRAY(SELECT id FROM orders_archive WHERE item = p_item ORDER BY id LIMIT p_max);
  PERFORM recall_orders(p_item, page, '{}');
  IF cardinality(page) < p_max THEN UPDATE items SET archive = NULL WHERE id = p_item; END IF;
  RETURN true;
END
$$;
