-- capture_order: a shop that takes the money itself reports it, with the order and a reference of its own; decides whether it pays the order.
-- In      id for a new payment, provider, order, the shop's reference, amount, currency, when (unix ms), how many payments of an order the
--         provider may have
-- Out     one row: outcome, item, again (this reference was reported before), refund_due (its money waits to go back). Outcomes of capture:
--           paid | same | late | second | wrong_amount; a report that is repeated has the outcome late or second again; and
--           reference_used  the reference belongs to another order        payments_used  too many of them: nothing is written
--           unknown         there is no such order
-- Keeps   the payment that the buyer started gets the shop's reference, else there is a new row; `capture` alone decides, in the same
--         transaction, under the order's lock. An order in the archive is brought back first
-- Locks   the order row, then the payment row; of an archived order the item row before both

CREATE OR REPLACE FUNCTION capture_order(p_id bigint, p_provider text, p_order bigint, p_ref text, p_amount bigint, p_currency text, p_at_ms bigint,
                                         p_max int)
RETURNS TABLE (outcome text, item bigint, again boolean, refund_due boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  o       orders%ROWTYPE;
  v_item  bigint;
  v_owner bigint;
  v_state text;
  v_why   text;
BEGIN
  again := false;
  refund_due := false;
  FOR i IN 1..2 LOOP
    SELECT a.item INTO v_item FROM all_orders a WHERE a.id = p_order;
    IF FOUND THEN
      SELECT * INTO o FROM orders WHERE id = p_order AND item = v_item FOR UPDATE;
      EXIT WHEN FOUND;
      -- In the archive, or on its way there: under the item's lock it stays where it is brought.
      PERFORM 1 FROM items WHERE id = v_item FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
      outcome := 'unknown';
      RETURN NEXT;
      RETURN;
    END IF;
    PERFORM recall_orders(v_item, ARRAY[p_order], '{}');
  END LOOP;
  item := v_item;

  -- Before anything is written: capture compares once more.
  IF o.price_minor * o.quantity <> p_amount OR o.currency <> p_currency THEN
    outcome := 'wrong_amount';
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT a.order_id INTO v_owner FROM all_payments a WHERE a.provider = p_provider AND a.ref = p_ref;
  IF NOT FOUND THEN
    v_owner := p_order;
    BEGIN
      UPDATE payments SET ref = p_ref WHERE order_id = p_order AND provider = p_provider AND state = 'started';
      IF NOT FOUND THEN
        IF (SELECT count(*) FROM payments WHERE order_id = p_order AND provider = p_provider) >= p_max THEN
          outcome := 'payments_used';
          RETURN NEXT;
          RETURN;
        END IF;
        -- Void, and captured a moment later: a started one could meet the one that the buyer starts right now.
        INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
        VALUES (p_id, p_order, v_item, p_provider, p_ref, p_amount, p_currency, 'void');
      END IF;
    EXCEPTION WHEN unique_violation THEN
      -- The same reference, reported for another order at this very moment.
      v_owner := NULL;
    END;
  END IF;
  IF v_owner IS DISTINCT FROM p_order THEN
    outcome := 'reference_used';
    RETURN NEXT;
    RETURN;
  END IF;

  SELECT c.outcome INTO outcome FROM capture(p_provider, p_ref, p_amount, p_currency, p_at_ms) c;
  SELECT state, why INTO v_state, v_why FROM payments WHERE provider = p_provider AND ref = p_ref;
  again := outcome = 'same';
  refund_due := v_state = 'refund_due';
  IF again AND v_why IN ('late', 'second') THEN outcome := v_why; END IF;
  RETURN NEXT;
END
$$;
