-- pay_again: until when an order must be paid that is not its buyer's first attempt, if the sale says so.
-- In      sale, when the order was placed
-- Out     a time, or NULL where the sale's terms say nothing
-- Keeps   a plain read
-- Locks   nothing

CREATE OR REPLACE FUNCTION pay_again(p_sale bigint, p_placed_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT p_placed_at + (s.terms -> 'holds' ->> 'payAgainMs')::bigint * interval '1 millisecond' FROM sales s WHERE s.id = p_sale
$$;
