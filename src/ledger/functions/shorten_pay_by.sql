-- shorten_pay_by: a trigger on orders: from the second attempt on, the sale's terms may leave less time to pay.
-- In      the row that is written; called for pending orders of a second or later attempt only
-- Out     the row, with the earlier of both times
-- Keeps   pay_by is never later than the item's time to pay allows
-- Locks   nothing

CREATE OR REPLACE FUNCTION shorten_pay_by() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT least(NEW.pay_by, pay_again(i.sale, NEW.placed_at)) INTO NEW.pay_by FROM items i WHERE i.id = NEW.item;
  RETURN NEW;
END
$$;
