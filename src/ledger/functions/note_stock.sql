-- note_stock: writes item.sold_out when the last unit of an item has gone, and item.back when it has units again before its sale ends.
-- In      item, its sale, available before and after the change, when
-- Out     nothing
-- Keeps   called under the item's lock by every change of available: sold_out and back take turns, and each is written once
-- Locks   nothing: the caller has locked the item row

CREATE OR REPLACE FUNCTION note_stock(p_item bigint, p_sale bigint, p_before bigint, p_after bigint, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s sales%ROWTYPE;
BEGIN
  IF (p_before = 0) = (p_after = 0) THEN RETURN; END IF;
  SELECT * INTO s FROM sales WHERE id = p_sale;
  IF s.state = 'draft' THEN RETURN; END IF;
  IF p_after = 0 THEN
    PERFORM note_events('item.sold_out', ARRAY[p_item], NULL, p_at);
  ELSIF s.state <> 'over' AND p_at < s.closes_at THEN
    PERFORM note_events('item.back', ARRAY[p_item], NULL, p_at);
  END IF;
END
$$;
