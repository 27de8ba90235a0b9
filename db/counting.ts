// What the database counts itself, as SQL that can run again and again: whoever changes a transaction, and however, it is
// counted in the same database transaction.

import type { ATTEMPT_KINDS, CounterName } from './words.ts'

/** A statement that counts one, with labels beside the network. */
const count = (name: CounterName, labels = '') =>
  `insert into public.counts (name, labels, amount)
    values ('${name}', jsonb_build_object('network', new.network${labels}), 1);`

const step = (kind: (typeof ATTEMPT_KINDS)[number]) => `, 'step', '${kind}'`

/** A block counts when it comes and when it goes: mined less put back is what is in a block now. */
export const COUNT_TRANSACTIONS = `
create or replace function public.count_transaction() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    ${count('transactions_accepted_total', ", 'kind', new.kind")}
    return null;
  end if;
  if old.broadcast_at is null and new.broadcast_at is not null then
    ${count('transactions_broadcast_total')}
  end if;
  if new.mined_block_hash is distinct from old.mined_block_hash then
    if old.mined_block_hash is not null then
      ${count('transactions_put_back_total')}
    end if;
    if new.mined_block_hash is not null then
      ${count('transactions_mined_total')}
    end if;
  end if;
  if new.chosen > old.chosen then
    if new.chosen < new.rungs then
      ${count('ladder_steps_total', step('rung'))}
    else
      ${count('ladder_steps_total', step('cancel'))}
    end if;
  end if;
  if new.final and not old.final then
    if new.status = 'success' then
      ${count('transactions_succeeded_total')}
    else
      ${count('transactions_failed_total', ", 'code', new.error_code")}
    end if;
  end if;
  return null;
end $$;
create or replace trigger count_transaction
  after insert or update of broadcast_at, mined_block_hash, chosen, final on public.transactions
  for each row execute function public.count_transaction();
`
