-- The operators' views: each transaction with its signer, its attempts and its job, and why it is not done. `cli tx` and
-- `cli jobs` read them too, so that the reason is computed in one place. A `db migrate` that changes tables, or this text, makes them
-- again, because they use our tables and graphile-worker's view. Their owner is a role that no process logs in as. They use its
-- rights, so readers need no rights on the tables. No view shows an attempt's raw bytes or a job's payload.

create schema strongroom_views authorization strongroom_jobs;
set local role strongroom_jobs;

comment on schema strongroom_views is 'Views for operators, recreated by migrations: build nothing on them. docs/operations.md explains them.';

create function strongroom_views.span(seconds numeric) returns text language sql immutable as $$
  select case
    when seconds < 120 then greatest(floor(seconds), 0) || ' s'
    when seconds < 7200 then floor(seconds / 60) || ' min'
    when seconds < 172800 then floor(seconds / 3600) || ' h'
    else floor(seconds / 86400) || ' d'
  end
$$;
create function strongroom_views.since(at timestamptz) returns text language sql stable as $$
  select strongroom_views.span(extract(epoch from now() - at))
$$;
create function strongroom_views.due(at timestamptz) returns text language sql stable as $$
  select case when at > now() then 'in ' || strongroom_views.span(ceil(extract(epoch from at - now()))) else 'now' end
$$;

create function strongroom_views.gwei(wei numeric) returns text language sql immutable as $$
  select trim_scale(round(wei / 1000000000, 3))::text
$$;

create function strongroom_views.times(count integer) returns text language sql immutable as $$
  select case count when 1 then 'once' else count || ' times' end
$$;

-- Jobs.

create view strongroom_views.workers as
select worker.id, worker.started_at, worker.seen_at,
  worker.seen_at > now() - interval '10 s'
    and exists (select from pg_stat_activity session where session.application_name = worker.application_name) as lives
from public.workers worker;

create view strongroom_views.jobs as
select job.id, job.task_identifier as task, job.key,
  case
    when job.locked_at is not null and not coalesce(worker.lives, job.locked_at > now() - interval '3 s') then 'abandoned'
    when job.locked_at is not null then 'running'
    when job.attempts >= job.max_attempts then 'given_up'
    when job.last_error is not null and job.attempts > 0 then 'failing'
    when job.run_at > now() then 'scheduled'
    else 'due'
  end as state,
  job.run_at, job.attempts, job.max_attempts,
  -- Only the first line: further ones can contain the values of a failed statement.
  left(split_part(job.last_error, E'\n', 1), 300) as last_error,
  job.locked_at, job.locked_by, job.created_at, job.updated_at,
  coalesce(transaction.network, substring(job.key from '^(?:track|index)_blocks:([A-Za-z0-9]+)$')) as network,
  transaction.id as transaction_id, transaction.project_id, transaction.signer_address, transaction.nonce,
  transaction.status as transaction_status
from graphile_worker.jobs job
left join strongroom_views.workers worker on worker.id = job.locked_by
left join lateral (
  select * from public.transactions
  where id = substring(job.key from '^broadcast:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$')::uuid
  limit 1
) transaction on true;

-- Signers.

-- For each signer with waiting transactions, the one with the lowest nonce: all others wait for it. The node's answer about the
-- signer counts only if it is newer than that transaction.
create view strongroom_views.lowest_waiting as
select lowest.network, lowest.signer_address, lowest.id as transaction_id, lowest.nonce,
  heard.mined_count, heard.pending_count, missing.nonce as missing_nonce
from (
  select distinct on (network, signer_address) network, signer_address, id, nonce, created_at
  from public.transactions
  where not final and status in ('submitted', 'pending') and mined_block_hash is null
  order by network, signer_address, nonce
) lowest
left join public.signers heard
  on heard.network = lowest.network and heard.address = lowest.signer_address and heard.heard_at > lowest.created_at
left join lateral (
  select min(candidate) as nonce
  from generate_series(heard.mined_count, least(lowest.nonce, heard.mined_count + 1000) - 1) candidate
  where not exists (
    select from public.transactions ours
    where ours.network = lowest.network and ours.signer_address = lowest.signer_address
      and ours.nonce = candidate and ours.holds_nonce
  )
) missing on true;

create view strongroom_views.signers as
select signer.network, signer.address,
  coalesce(live.transactions, 0) as live, coalesce(live.waiting, 0) as waiting, coalesce(live.late, 0) as late,
  live.oldest_at as oldest_live_at,
  lowest.nonce as lowest_waiting_nonce, lowest.transaction_id as lowest_waiting_transaction, lowest.missing_nonce,
  signer.mined_count, signer.pending_count, signer.balance, signer.heard_at
from public.signers signer
left join (
  select network, signer_address, count(*) as transactions, min(created_at) as oldest_at,
    count(*) filter (where mined_block_hash is null) as waiting,
    count(*) filter (where created_at < now() - interval '1 minute') as late
  from public.transactions
  where not final and status in ('submitted', 'pending')
  group by network, signer_address
) live on live.network = signer.network and live.signer_address = signer.address
left join strongroom_views.lowest_waiting lowest
  on lowest.network = signer.network and lowest.signer_address = signer.address;

-- Transactions.

-- An attempt's number, from 1, is its place in the ladder's lists.
create function strongroom_views.attempt_kind(place bigint, rungs integer) returns text language sql immutable as $$
  select case sign(place - rungs - 1) when -1 then 'rung' when 0 then 'cancel' else 'former_cancel' end
$$;

create view strongroom_views.attempts as
select ladder.transaction_id, ladder.network, each.place::integer as attempt,
  strongroom_views.attempt_kind(each.place, transaction.rungs) as kind, named.hash,
  each.place = transaction.chosen + 1 as chosen,
  coalesce(named.hash = transaction.shown_hash and transaction.mined_block_hash is not null, false) as mined,
  each.max_fee_per_gas, each.accepted_at, each.refusal, ladder.raws is not null as sendable
from public.ladders ladder
join public.transactions transaction on transaction.id = ladder.transaction_id
cross join unnest(ladder.hashes, ladder.max_fees_per_gas, ladder.accepted_at, ladder.last_errors)
  with ordinality as each(hash, max_fee_per_gas, accepted_at, refusal, place)
cross join lateral (select '0x' || encode(each.hash, 'hex') as hash) named;

-- First the cause as a word, from the strongest evidence to the weakest; then the sentence. Rows are looked up by key with a
-- limit, because the planner's estimates would make it scan whole tables. The lowest waiting ones are one value, computed once and
-- only if a row needs it: with a CTE in the view, PostgreSQL would compute all rows before it sorts and limits them.
create view strongroom_views.transactions as
select transaction.id, transaction.project_id, transaction.wallet_id, transaction.network, transaction.signer_address,
  transaction.contract_wallet, transaction.nonce, transaction.kind, transaction."to", transaction.value,
  transaction.fee_asset, transaction.fee_asset_cost, transaction.status, transaction.final,
  transaction.created_at, strongroom_views.since(transaction.created_at) as age,
  state.live and transaction.created_at < now() - interval '1 minute' as late,
  cause.word as cause, why.sentence as why,
  case when cause.word = 'behind' then lowest.transaction_id end as waits_for,
  transaction.chosen + 1 as attempt, transaction.rungs, transaction.is_cut_by_funds as cut_by_funds, state.cancelling, transaction.given_up,
  chosen.hash as attempt_hash,
  chosen.broadcast_at as accepted_at, chosen.last_error as refusal, clock.climbs_at, clock.gives_up_at,
  transaction.shown_hash, transaction.mined_block_number, transaction.mined_block_hash, chosen.shown_kind as mined_attempt,
  depth.blocks as confirmations, followed.confirmations as confirmations_needed,
  transaction.error_code, transaction.error, transaction.contract_address,
  transaction.broadcast_at, transaction.settled_at, transaction.updated_at,
  job.id as job_id, job.state as job_state, job.run_at as job_run_at, job.attempts as job_attempts,
  job.last_error as job_error
from public.transactions transaction
left join lateral (
  select '0x' || encode(hashes[transaction.chosen + 1], 'hex') as hash, max_fees_per_gas[transaction.chosen + 1] as max_fee_per_gas,
    accepted_at[transaction.chosen + 1] as broadcast_at, last_errors[transaction.chosen + 1] as last_error,
    case when transaction.mined_block_hash is not null then (
      select strongroom_views.attempt_kind(place, transaction.rungs) from unnest(hashes) with ordinality as each(hash, place)
      where '0x' || encode(each.hash, 'hex') = transaction.shown_hash limit 1) end as shown_kind
  from public.ladders where transaction_id = transaction.id
  limit 1
) chosen on true
left join lateral jsonb_to_record(
  case when transaction.status in ('submitted', 'pending') and transaction.mined_block_hash is null then (
    select jsonb_object_agg(each.network || ' ' || each.signer_address, to_jsonb(each)) from strongroom_views.lowest_waiting each
  ) -> (transaction.network || ' ' || transaction.signer_address) end
) lowest (transaction_id uuid, nonce bigint, mined_count bigint, pending_count bigint, missing_nonce bigint) on true
left join lateral (select * from strongroom_views.jobs where key = 'broadcast:' || transaction.id limit 1) job on true
left join lateral (
  select state, last_error from strongroom_views.jobs where key = 'track_blocks:' || transaction.network limit 1
) follower on true
left join public.followed_networks followed on followed.network = transaction.network
left join public.cursors tracked on tracked.network = transaction.network and tracked.purpose = 'track'
cross join lateral (
  select transaction.status in ('submitted', 'pending') as live, transaction.mined_block_hash is not null as mined,
    transaction.chosen = transaction.rungs as cancelling
) state
cross join lateral (
  select greatest(tracked.block_number - transaction.mined_block_number + 1, 0) as blocks
) depth
cross join lateral (
  select coalesce(chosen.max_fee_per_gas < tracked.base_fee_per_gas, false) as above_offer,
    coalesce(chosen.max_fee_per_gas < tracked.base_fee_per_gas, false)
      and transaction.chosen + 1 >= transaction.rungs as above_top
) fees
cross join lateral (
  select coalesce(tracked.updated_at < now() - make_interval(secs => followed.stalled_after_seconds), false) as stalled
) chain
cross join lateral (
  -- Without blocks no time counts, and what counts begins again with the next one.
  select case when transaction.clock_started_at is not null and not chain.stalled
    then greatest(transaction.clock_started_at, tracked.resumed_at) end as from_at
) counted
cross join lateral (
  select
    -- The clock raises only the fee of what a node has accepted.
    case when transaction.chosen + 1 < transaction.rungs and transaction.broadcast_at is not null
      and counted.from_at is not null then greatest(transaction.chosen_at, counted.from_at) end
      + make_interval(secs => followed.climb_after_seconds) as climbs_at,
    -- A mortal extrinsic ends by itself.
    case when not state.cancelling and transaction.valid_until_block is null
      and not (fees.above_top and not transaction.has_fixed_fees) then counted.from_at end
      + make_interval(secs => followed.expire_after_seconds) as gives_up_at
) clock
cross join lateral (
  select case
    when not state.live and transaction.final then null
    when not state.live then 'not_final'
    when state.mined and chosen.shown_kind <> 'rung' then 'cancel_mined'
    when state.mined then 'confirming'
    when lowest.transaction_id <> transaction.id then 'behind'
    when chosen.last_error = 'waits for its contract wallet to be deployed' then 'not_deployed'
    when lowest.pending_count > lowest.missing_nonce then 'outside_nonce'
    when lowest.missing_nonce is not null or chosen.last_error = 'waits for a lower nonce' then 'nonce_gap'
    when lowest.mined_count > transaction.nonce or chosen.last_error = 'the nonce is used on the chain' then 'nonce_used'
    when chosen.last_error like 'insufficient_funds: %' then 'unpayable'
    when fees.above_offer then 'waiting_for_fees'
    when chosen.last_error like 'underpriced: %' then 'fee_too_low'
    when chosen.last_error like 'unknown: %' then 'node_trouble'
    when chosen.last_error is not null then 'refused'
    when chosen.broadcast_at is null then 'not_sent'
    else 'in_pool'
  end as word
) cause
cross join lateral (
  select case
    when job.id is null then 'no job sends it: the reconciler adds one within a minute'
    when job.state = 'running' then 'it is being sent now'
    when job.state = 'abandoned' then 'its job is locked by a worker that has ended; another worker unlocks it within seconds'
    when job.state = 'given_up' then format('its job failed %s, and is not tried again: %s', strongroom_views.times(job.attempts), job.last_error)
    when job.state = 'failing'
      then format('its job failed %s, and is tried again %s: %s', strongroom_views.times(job.attempts), strongroom_views.due(job.run_at), job.last_error)
    when job.state = 'scheduled' then 'it is sent again ' || strongroom_views.due(job.run_at)
    when exists (select from strongroom_views.workers where lives) then 'its job is due, and the workers are busy'
    else 'its job is due, and no worker is running'
  end as words
) sending
cross join lateral (
  select case
    when state.cancelling then ''
    when transaction.valid_until_block is not null
      then format('; no block above %s takes it', transaction.valid_until_block)
    when transaction.has_fixed_fees then ' at the fee that its caller fixed'
    else format(' at rung %s of %s', transaction.chosen + 1, transaction.rungs)
      || case when transaction.is_cut_by_funds then ' (the signer could not have paid higher ones)' else '' end
  end
  || case
    when clock.climbs_at is not null then '; it climbs ' || strongroom_views.due(clock.climbs_at)
    when clock.gives_up_at is not null then '; it is given up ' || strongroom_views.due(clock.gives_up_at)
    when chain.stalled and not state.cancelling and transaction.valid_until_block is null
      then '; its time counts again from the next block'
    else ''
  end as words
) offer
cross join lateral (
  select case
    when followed.updated_at is null then format('; no worker follows %s', transaction.network)
    when followed.updated_at < now() - interval '2 minutes'
      then format('; no worker has followed %s for %s', transaction.network, strongroom_views.since(followed.updated_at))
    when follower.state in ('failing', 'given_up')
      then format('; the follower of %s failed: %s', transaction.network, follower.last_error)
    when tracked.stepped_at < now() - interval '30 s'
      then format('; the follower of %s has done nothing for %s', transaction.network, strongroom_views.since(tracked.stepped_at))
    when tracked.updated_at < now() - interval '1 minute'
      then format('; no block was processed for %s', strongroom_views.since(tracked.updated_at))
    else ''
  end as words
) following
cross join lateral (
  select rtrim(regexp_replace(chosen.last_error, '^[a-z_]+: ', ''), '.') as words
) refusal
cross join lateral (
  select
    case when state.live and not state.mined and state.cancelling then 'given up; ' else '' end
    || case cause.word
      when 'not_final' then format('reported; in block %s, %s deep, and not final yet%s',
        transaction.mined_block_number, depth.blocks, following.words)
      when 'cancel_mined' then format('given up; its cancel is in block %s, %s deep, and is reported when that is final%s',
        transaction.mined_block_number, depth.blocks, following.words)
      when 'confirming' then format('mined in block %s, %s of %s confirmations%s%s',
        transaction.mined_block_number, depth.blocks, coalesce(followed.confirmations::text, '?'),
        case when transaction.valid_until_block is null then '' else '; ' || refusal.words end, following.words)
      when 'behind' then format('waits for nonce %s of the same signer (transaction %s)', lowest.nonce, lowest.transaction_id)
      when 'not_deployed' then format('waits for the deployment of its contract wallet %s; %s', transaction.contract_wallet, sending.words)
      when 'outside_nonce' then format('waits for nonce %s, which a transaction from outside holds in the node''s pool',
        lowest.missing_nonce)
      when 'nonce_gap' then format('waits for nonce %s, which no transaction has (perhaps one from outside was dropped); the signer''s next transaction takes it',
        coalesce(lowest.missing_nonce::text, 'below ' || transaction.nonce))
      when 'nonce_used' then format('nonce %s is used on the chain: by an attempt in a block that is not processed yet, or by a transaction from outside, which is reported when that is final%s',
        transaction.nonce, following.words)
      when 'unpayable' then format('%s: %s; %s',
        case when state.cancelling then 'the signer cannot pay even for the cancel' else 'the signer cannot pay for it' end,
        refusal.words, sending.words)
      when 'waiting_for_fees' then format('blocks ask for %s gwei, and it offers %s%s%s',
        strongroom_views.gwei(tracked.base_fee_per_gas), strongroom_views.gwei(chosen.max_fee_per_gas), offer.words,
        case when fees.above_top and not state.cancelling and not transaction.has_fixed_fees
          then '; it is not given up before fees fall' else '' end)
      when 'fee_too_low' then format('the node finds the fee too low%s: %s; %s', offer.words, refusal.words, sending.words)
      when 'node_trouble' then format('the node did not confirm that it accepted it: %s; %s', refusal.words, sending.words)
      when 'refused' then format('the node refuses it: %s; %s', refusal.words, sending.words)
      when 'not_sent' then 'not sent: ' || sending.words
      when 'in_pool' then format('in the node''s pool for %s%s%s', strongroom_views.since(chosen.broadcast_at), offer.words, following.words)
    end as sentence
) why;

create view strongroom_views.late_transactions as
select id, project_id, network, signer_address, contract_wallet, nonce, kind, status, created_at, age, cause, why, waits_for, attempt,
  rungs, cancelling, refusal, job_id, job_state, job_error
from strongroom_views.transactions
where late;

-- Activity.

create view strongroom_views.backfills as
select network, address, requested_at, from_block, reached_block, coins_reached_block, traced_reached_block, done_at,
  case when done_at is not null then 'done' when hindrance is not null then 'hindered' when begun_at is null then 'not begun'
    else 'walking' end as state,
  hindrance, hindrance_reason as reason, hindered_at, tries, next_try_at
from public.backfills;

-- What each column means, for readers of the database itself.

comment on view strongroom_views.workers is 'The job pools that were started and not found dead yet.';
comment on column strongroom_views.workers.id is 'The pool''s name in graphile-worker.';
comment on column strongroom_views.workers.started_at is 'When it was enrolled.';
comment on column strongroom_views.workers.seen_at is 'When it last said that it works; it does every two seconds.';
comment on column strongroom_views.workers.lives is 'Whether it has a connection to the database, and was seen within the last 10 seconds.';

comment on view strongroom_views.jobs is 'The jobs that wait, run or have failed; one that succeeded is deleted. Payloads are not shown.';
comment on column strongroom_views.jobs.id is 'Its number in graphile-worker.';
comment on column strongroom_views.jobs.task is 'What it does.';
comment on column strongroom_views.jobs.key is 'At most one waiting job has it: broadcast:<transaction>, track_blocks:<network>, …';
comment on column strongroom_views.jobs.state is 'due, scheduled (not before run_at), running, abandoned (locked by a worker that has ended), failing (failed, and tried again at run_at), given_up (failed for the last time).';
comment on column strongroom_views.jobs.run_at is 'When it is due.';
comment on column strongroom_views.jobs.attempts is 'How often it was started.';
comment on column strongroom_views.jobs.max_attempts is 'After this many attempts it is given up.';
comment on column strongroom_views.jobs.last_error is 'The first line of its last error.';
comment on column strongroom_views.jobs.locked_at is 'Since when a worker runs it.';
comment on column strongroom_views.jobs.locked_by is 'Which worker.';
comment on column strongroom_views.jobs.created_at is 'When it was added.';
comment on column strongroom_views.jobs.updated_at is 'When it last changed.';
comment on column strongroom_views.jobs.network is 'Its network; null if it has none.';
comment on column strongroom_views.jobs.transaction_id is 'The transaction that it sends.';
comment on column strongroom_views.jobs.project_id is 'Its project.';
comment on column strongroom_views.jobs.signer_address is 'Its signer.';
comment on column strongroom_views.jobs.nonce is 'Its nonce.';
comment on column strongroom_views.jobs.transaction_status is 'Its status.';

comment on view strongroom_views.backfills is 'Backfills: searches for what an address moved before it became a wallet''s.';
comment on column strongroom_views.backfills.network is 'The network.';
comment on column strongroom_views.backfills.address is 'The address; several projects may have it.';
comment on column strongroom_views.backfills.requested_at is 'When the first wallet that needs it was made.';
comment on column strongroom_views.backfills.from_block is 'The backfill goes down from here; above it the indexer watches the address.';
comment on column strongroom_views.backfills.reached_block is 'Everything from here on is listed.';
comment on column strongroom_views.backfills.coins_reached_block is 'Coin movements are listed from here on; below, only movements that events report.';
comment on column strongroom_views.backfills.traced_reached_block is 'Coin movements within transactions are listed from here on; below, only the values of transactions.';
comment on column strongroom_views.backfills.done_at is 'When it reached its end: the first block, or one from before the key was made.';
comment on column strongroom_views.backfills.state is 'not begun, walking, hindered or done.';
comment on column strongroom_views.backfills.hindrance is 'Why it cannot go on below reached_block: pruned, behind, refused or away. Null if it can.';
comment on column strongroom_views.backfills.reason is 'The same as a sentence.';
comment on column strongroom_views.backfills.hindered_at is 'Since when.';
comment on column strongroom_views.backfills.tries is 'How often it has failed since then.';
comment on column strongroom_views.backfills.next_try_at is 'When it is tried again.';

comment on view strongroom_views.lowest_waiting is 'For each signer with waiting transactions, the one with the lowest nonce: the others cannot be mined before it.';
comment on column strongroom_views.lowest_waiting.network is 'The network.';
comment on column strongroom_views.lowest_waiting.signer_address is 'The signer.';
comment on column strongroom_views.lowest_waiting.transaction_id is 'The transaction.';
comment on column strongroom_views.lowest_waiting.nonce is 'Its nonce.';
comment on column strongroom_views.lowest_waiting.mined_count is 'The signer''s mined transactions when the node was last asked; null if that was before this one was recorded.';
comment on column strongroom_views.lowest_waiting.pending_count is 'The same, with those in its pool.';
comment on column strongroom_views.lowest_waiting.missing_nonce is 'The lowest nonce below this one that was unused then and that none of our transactions holds; null if there is none.';

comment on view strongroom_views.signers is 'The state of each signer.';
comment on column strongroom_views.signers.network is 'The network.';
comment on column strongroom_views.signers.address is 'The address.';
comment on column strongroom_views.signers.live is 'Its transactions that are submitted or pending.';
comment on column strongroom_views.signers.waiting is 'Those of them that are in no block.';
comment on column strongroom_views.signers.late is 'Those of them that have been live for more than a minute.';
comment on column strongroom_views.signers.oldest_live_at is 'When the oldest live one was recorded.';
comment on column strongroom_views.signers.lowest_waiting_nonce is 'The nonce that all others wait for.';
comment on column strongroom_views.signers.lowest_waiting_transaction is 'The transaction that has it.';
comment on column strongroom_views.signers.missing_nonce is 'A lower nonce that the chain waits for and that none of our transactions holds.';
comment on column strongroom_views.signers.mined_count is 'Its mined transactions when the node was last asked. The node is asked while a transaction has waited for 20 s.';
comment on column strongroom_views.signers.pending_count is 'The same, with those in its pool.';
comment on column strongroom_views.signers.balance is 'Its balance then, in base units.';
comment on column strongroom_views.signers.heard_at is 'When the node was asked.';

comment on view strongroom_views.attempts is 'The signed encodings of each transaction: rungs at rising fees, then the cancel. Their bytes are not shown.';
comment on column strongroom_views.attempts.transaction_id is 'The transaction.';
comment on column strongroom_views.attempts.network is 'The network.';
comment on column strongroom_views.attempts.attempt is 'Its place on the ladder, from 1; the cancel is last.';
comment on column strongroom_views.attempts.kind is 'rung, cancel, or former_cancel: a cancel from before a speed-up.';
comment on column strongroom_views.attempts.hash is 'Its hash.';
comment on column strongroom_views.attempts.chosen is 'Whether it is the attempt that is sent now.';
comment on column strongroom_views.attempts.mined is 'Whether it is in a block.';
comment on column strongroom_views.attempts.max_fee_per_gas is 'Its fee cap in wei: no block with a higher base fee takes it. Null on Polkadot and Vara.';
comment on column strongroom_views.attempts.accepted_at is 'When a node first accepted it.';
comment on column strongroom_views.attempts.refusal is 'The node''s last refusal; null after it accepted the attempt.';
comment on column strongroom_views.attempts.sendable is 'Whether its bytes are kept, which is until the transaction is final.';

comment on view strongroom_views.transactions is 'Each transaction beside its signer, its chosen attempt and its job, and why it is not done.';
comment on column strongroom_views.transactions.id is 'Our id.';
comment on column strongroom_views.transactions.project_id is 'Its project.';
comment on column strongroom_views.transactions.wallet_id is 'Its wallet.';
comment on column strongroom_views.transactions.network is 'The network.';
comment on column strongroom_views.transactions.signer_address is 'The address that sends it.';
comment on column strongroom_views.transactions.contract_wallet is 'The contract wallet that executes it, for which the signer sends; null for an eoa wallet.';
comment on column strongroom_views.transactions.nonce is 'Its nonce.';
comment on column strongroom_views.transactions.kind is 'The request that made it: send, batch, mint, transfer or collection; deployment: of a contract wallet, before its first transaction.';
comment on column strongroom_views.transactions."to" is 'The address that it calls or pays; null for a contract creation.';
comment on column strongroom_views.transactions.value is 'In base units.';
comment on column strongroom_views.transactions.fee_asset is 'The asset in which its fee is paid; null if that is the coin.';
comment on column strongroom_views.transactions.fee_asset_cost is 'The most that its fee can be in that asset, in base units.';
comment on column strongroom_views.transactions.status is 'submitted, pending, success or failed.';
comment on column strongroom_views.transactions.final is 'Whether no reorganisation can change it any more.';
comment on column strongroom_views.transactions.created_at is 'When it was recorded.';
comment on column strongroom_views.transactions.age is 'How long ago it was recorded.';
comment on column strongroom_views.transactions.late is 'Whether it has been live for more than a minute.';
comment on column strongroom_views.transactions.cause is 'Why it is not done, as one of the words in docs/operations.md; null if it is done.';
comment on column strongroom_views.transactions.why is 'The same as a sentence.';
comment on column strongroom_views.transactions.waits_for is 'The transaction that must be mined before it; null if there is none.';
comment on column strongroom_views.transactions.attempt is 'Which of its attempts is sent, from 1; one more than rungs is the cancel.';
comment on column strongroom_views.transactions.rungs is 'The number of rungs of its fee ladder.';
comment on column strongroom_views.transactions.cut_by_funds is 'Whether its ladder has fewer rungs because the signer could not pay higher ones when it was signed.';
comment on column strongroom_views.transactions.cancelling is 'Whether it is given up: only the cancel is sent.';
comment on column strongroom_views.transactions.given_up is 'Why it is given up: expired, cancelled (by an operator), or contract_wallet_not_deployed. Null if it is not.';
comment on column strongroom_views.transactions.attempt_hash is 'The hash of the attempt that is sent.';
comment on column strongroom_views.transactions.accepted_at is 'When a node first accepted that attempt.';
comment on column strongroom_views.transactions.refusal is 'The node''s last refusal; null after it accepted the attempt.';
comment on column strongroom_views.transactions.climbs_at is 'When its fee is raised, if it is not mined by then. Null while no block comes.';
comment on column strongroom_views.transactions.gives_up_at is 'When it is given up, if it is not mined by then. Null while no block comes.';
comment on column strongroom_views.transactions.shown_hash is 'The hash that callers see.';
comment on column strongroom_views.transactions.mined_block_number is 'The block that it is in.';
comment on column strongroom_views.transactions.mined_block_hash is 'That block''s hash.';
comment on column strongroom_views.transactions.mined_attempt is 'The kind of the mined attempt: rung, cancel or former_cancel.';
comment on column strongroom_views.transactions.confirmations is 'The number of processed blocks from its own on.';
comment on column strongroom_views.transactions.confirmations_needed is 'The number of confirmations after which its result is reported.';
comment on column strongroom_views.transactions.error_code is 'Why it failed.';
comment on column strongroom_views.transactions.error is 'The same as a sentence.';
comment on column strongroom_views.transactions.contract_address is 'The contract that it created.';
comment on column strongroom_views.transactions.broadcast_at is 'When a node first accepted one of its attempts.';
comment on column strongroom_views.transactions.settled_at is 'When its result was reported.';
comment on column strongroom_views.transactions.updated_at is 'When it last changed or was checked.';
comment on column strongroom_views.transactions.job_id is 'Its job in the queue; null if there is none.';
comment on column strongroom_views.transactions.job_state is 'As in strongroom_views.jobs.';
comment on column strongroom_views.transactions.job_run_at is 'When that job is due.';
comment on column strongroom_views.transactions.job_attempts is 'How often it was started.';
comment on column strongroom_views.transactions.job_error is 'The first line of that job''s last error.';

comment on view strongroom_views.late_transactions is 'The transactions that have been live for more than a minute, with the reason. Columns as in strongroom_views.transactions.';
do $$ declare same record; begin
  for same in
    select late.attname as name, col_description(every.attrelid, every.attnum) as comment
    from pg_attribute late join pg_attribute every using (attname)
    where late.attrelid = 'strongroom_views.late_transactions'::regclass
      and every.attrelid = 'strongroom_views.transactions'::regclass and every.attnum > 0
  loop
    execute format('comment on column strongroom_views.late_transactions.%I is %L', same.name, same.comment);
  end loop;
end $$;

grant usage on schema strongroom_views to strongroom_api, strongroom_console, strongroom_viewer;
grant select on all tables in schema strongroom_views to strongroom_api, strongroom_console, strongroom_viewer;
