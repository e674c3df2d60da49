-- recall_orders: brings archived orders of one item back among the others, with their payments, so that a writer finds them there.
-- In      item, order ids, buyers: every archived order with one of these ids or of one of these buyers
-- Out     nothing. The item is `moving` again: the archive takes its orders once more when they are settled
-- Keeps   each order and payment is in one of the two tables, and no statement sees it in both or in none
-- Locks   nothing: the caller has locked the item row

CREATE OR REPLACE FUNCTION recall_orders(p_item bigint, p_ids bigint[], p_buyers text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  back bigint[];
BEGIN
  SELECT array_agg(a.id) INTO back
  FROM (SELECT id FROM orders_archive WHERE id = ANY (p_ids) AND item = p_item
        UNION SELECT id FROM orders_archive WHERE buyer = ANY (p_buyers) AND item = p_item) a;
  WITH gone AS (DELETE FROM orders_archive WHERE id = ANY (back) RETURNING *) INSERT INTO orders SELECT * FROM gone;
  WITH gone AS (DELETE FROM payments_archive WHERE order_id = ANY (back) RETURNING *) INSERT INTO payments SELECT * FROM gone;
  UPDATE items SET archive = 'moving' WHERE id = p_item AND archive = 'done';
END
$$;
