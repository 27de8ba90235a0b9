// Triggers on the tables of their causes write events, in the transaction of the cause. So no code can forget one, and
// no process can write one in another way. An event names things by ids and public facts: it has no secret, no e-mail
// address, and no name that a person chose.
//
// The triggers lock nothing, and give no numbers. `strongroom_event_numbers` numbers committed rows in the order of
// their ids, under the lock of the project's counter. A transaction that commits late is numbered late, so no reader
// has passed it. Of two changes of one row, the later one waited for the earlier commit: a reader of the later event
// sees both.

import { type AuditAction, SECURITY_EVENTS } from './words.ts'

/** Says that there are new events, and not whose. */
export const EVENTS_CHANNEL = 'strongroom_events'

const time = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

type Of = {
  /** Follows `strongroom_event_`. Entries of one name are cases of one trigger: the first case that holds counts. */
  readonly name: string
  readonly table: string
  /** `insert`, or `update of` some columns. */
  readonly on: string
  /** Which rows are events. */
  readonly when?: string
  /** SQL: the columns project_id, type and data of the event, of the row `new`. */
  readonly select: string
}

const event = (type: string, fields: Readonly<Record<string, string>>): string =>
  `'${type}', jsonb_build_object(${Object.entries(fields)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ')})`

const POLICY = { policy_uuid: 'new.id', network: 'new.network', wallet_address: 'wallet.address' }

const APPROVAL = {
  approval_id: 'approval.id',
  policy_uuid: 'approval.policy_id',
  network: 'wallet.network',
  wallet_address: 'wallet.address',
}

const OF_POLICY = 'from public.wallets wallet where wallet.id = new.wallet_id'
const OF_APPROVAL = 'from (select new.*) approval join public.wallets wallet on wallet.id = approval.wallet_id'

/** A credential's kind is in the action, or in the details. */
const credential = (change: 'added' | 'removed'): string =>
  `select new.project_id, ${event(`credential.${change}`, {
    kind: `case new.action when 'email_added' then 'email' when 'passkey_${change}' then 'passkey'
      else case new.details->>'kind' when 'passkey' then 'passkey_secret' else new.details->>'kind' end end`,
    owner_id: `coalesce(new.details->>'user_id', new.subject)`,
  })}`

const TRANSACTION = `select new.project_id, ${event('transaction.updated', {
  transaction_id: 'new.id',
  transaction_hash: 'new.shown_hash',
  network: 'new.network',
  wallet_address: 'coalesce(new.contract_wallet, new.signer_address)',
  status: 'new.status',
  contract_address: 'new.contract_address',
})} || jsonb_strip_nulls(jsonb_build_object('error', new.error, 'code', new.error_code))`

const audited = (actions: readonly AuditAction[], select: string): Of => ({
  name: 'audited',
  table: 'audit',
  on: 'insert',
  when: `new.project_id is not null and new.action in (${actions.map((action) => `'${action}'`).join(', ')})`,
  select,
})

const ROWS: readonly Of[] = [
  { name: 'transaction_made', table: 'transactions', on: 'insert', select: TRANSACTION },
  {
    name: 'transaction_changed',
    table: 'transactions',
    on: 'update of status',
    when: 'old.status is distinct from new.status',
    select: TRANSACTION,
  },
  {
    name: 'wallet_made',
    table: 'wallets',
    on: 'insert',
    select: `select new.project_id, ${event('wallet.created', {
      id: 'new.id',
      network: 'new.network',
      owner_id: 'new.owner_id',
      address: 'new.address',
      control_mode: 'new.control_mode',
      type: 'new.type',
    })}`,
  },
  {
    name: 'user_made',
    table: 'users',
    on: 'insert',
    select: `select new.project_id, ${event('user.created', { user_id: 'new.id' })}`,
  },
  {
    name: 'policy_made',
    table: 'policies',
    on: 'insert',
    when: 'new.revoked_at is null',
    select: `select new.project_id, ${event('policy.created', POLICY)} ${OF_POLICY}`,
  },
  {
    name: 'policy_revoked',
    table: 'policies',
    on: 'update of revoked_at',
    when: 'old.revoked_at is null and new.revoked_at is not null',
    select: `select new.project_id, ${event('policy.revoked', POLICY)} ${OF_POLICY}`,
  },
  {
    name: 'approval_asked',
    table: 'approvals',
    on: 'insert',
    select: `select new.project_id, ${event('approval.requested', {
      ...APPROVAL,
      required: 'new.required',
      expires_at: time('new.expires_at'),
    })} ${OF_APPROVAL}`,
  },
  {
    name: 'approval_expired',
    table: 'approvals',
    on: 'update of expired_at',
    when: 'old.expired_at is null and new.expired_at is not null',
    select: `select new.project_id, ${event('approval.expired', APPROVAL)} ${OF_APPROVAL}`,
  },
  {
    name: 'approval_decided',
    table: 'approval_decisions',
    on: 'insert or update of decision',
    select: `select approval.project_id, ${event('approval.decided', {
      ...APPROVAL,
      user_id: 'new.user_id',
      decision: 'new.decision',
    })}
      from public.approvals approval join public.wallets wallet on wallet.id = approval.wallet_id
      where approval.id = new.approval_id`,
  },
  {
    name: 'owner_locked',
    table: 'pin_guesses',
    on: 'update of locked_until',
    when: 'new.locked_until is not null and old.locked_until is distinct from new.locked_until',
    select: `select new.project_id, ${event('credential.locked', {
      owner_id: 'new.owner_id',
      locked_until: time('new.locked_until'),
    })}`,
  },
  audited(['passkey_added', 'email_added', 'user_secret_added'], credential('added')),
  audited(['passkey_removed', 'user_secret_removed'], credential('removed')),
  audited(
    [
      ...(['origins_changed', 'return_addresses_changed', 'passkey_domain_changed'] as const),
      ...(['anonymous_login_changed', 'issuer_added', 'issuer_removed'] as const),
    ],
    `select new.project_id, ${event('project.changed', {
      setting: `case new.action when 'origins_changed' then 'allowed_origins' when 'return_addresses_changed' then 'return_addresses'
        when 'passkey_domain_changed' then 'passkey_domain' when 'anonymous_login_changed' then 'anonymous_login' else 'issuers' end`,
    })}`,
  ),
  // The service counts them, and writes a bounded number of rows (src/identity/security-events.ts).
  audited(
    SECURITY_EVENTS,
    `select new.project_id, ${event('security.refused', {
      kind: 'new.action',
      // Without another name the subject is the caller's address.
      subject: `case when new.subject is distinct from new.details->>'from' then new.subject end`,
      count: `coalesce((new.details->>'count')::int, 1)`,
    })}`,
  ),
]

/** Runs with the rights of the tables' owner: no process can write an event without its cause. */
const ALONE = 'language plpgsql security definer set search_path = pg_catalog, pg_temp'

const caseOf = ({ when = 'true', select }: Of): string =>
  `if ${when} then insert into public.events (project_id, type, data) ${select};`

/** Without WHEN: PostgreSQL would parse it for each statement, which takes longer than the call of the function. */
const rowTrigger = (first: Of, others: readonly Of[]): string => {
  const { name, table, on } = first
  return `
create or replace function public.strongroom_event_${name}() returns trigger
${ALONE} as $$
begin
  ${[first, ...others].map(caseOf).join('\n  els')}
  end if;
  return null;
end $$;
revoke all on function public.strongroom_event_${name} from public;
create or replace trigger strongroom_event_${name} after ${on} on public.${table}
  for each row execute function public.strongroom_event_${name}();
`
}

/** A wallet's past causes no events. A block's time can be somewhat before its transactions were sent. */
const SINCE_CREATED = "movement.at >= wallet.created_at - interval '1 minute'"

const movementTrigger = (input: {
  readonly name: string
  readonly on: 'insert' | 'delete'
  readonly rows: 'new' | 'old'
  readonly select: string
}): string => `
create or replace function public.strongroom_event_${input.name}() returns trigger
${ALONE} set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  insert into public.events (project_id, type, data)
  select wallet.project_id, ${input.select}
  from changed movement
    join public.wallets wallet on wallet.network = movement.network and wallet.address = movement.address
  where movement.of_wallet and ${SINCE_CREATED}
  order by movement.block_number, movement.log_index, movement.item_index, movement.id;
  if found then perform pg_notify('${EVENTS_CHANNEL}', ''); end if;
  return null;
end $$;
revoke all on function public.strongroom_event_${input.name} from public;
create or replace trigger strongroom_event_${input.name} after ${input.on} on public.movements
  referencing ${input.rows} table as changed for each statement execute function public.strongroom_event_${input.name}();
`

const MOVEMENT = {
  uuid: 'movement.id',
  network: 'movement.network',
  wallet_address: 'movement.address',
  transaction_hash: 'movement.transaction_hash',
}

const MOVEMENTS = [
  movementTrigger({
    name: 'movement_seen',
    on: 'insert',
    rows: 'new',
    select: event('activity.created', {
      ...MOVEMENT,
      type: `case direction when 'in' then 'receive' else 'send' end || case when token_id is null then '_token' else '_nft' end`,
      timestamp: time('movement.at'),
      contract_address: 'movement.contract',
      token_id: 'movement.token_id::text',
      raw_amount: 'movement.amount::text',
      counterparty: 'movement.counterparty',
      initiated_by: 'movement.initiated_by',
    }),
  }),
  movementTrigger({
    name: 'movement_gone',
    on: 'delete',
    rows: 'old',
    select: event('activity.removed', MOVEMENT),
  }),
]

/** Writers do not notify within this time of a notification. Listeners look again after it (db/notices.ts). */
const QUIET_MS = 20

const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * A notifying transaction holds a lock of the whole server until its commit is on disk, and wakes all listeners. So the
 * first one notifies, and those that commit beside it or soon after do not. The trigger decides at the commit, so that
 * a stalled transaction silences no listener. Indexers always notify, once a statement, by their own triggers.
 *
 * The sequence has the time of the last notification: a row's change would be seen only after the commit. It is one
 * expression, because PL/pgSQL evaluates that without starting a query.
 */
const NOTIFY = `
create sequence if not exists public.strongroom_event_told_ms minvalue 0;
create or replace function public.strongroom_event_told() returns trigger
${ALONE} as $$
begin
  if new.type not in ('activity.created', 'activity.removed')
    and ${NOW_MS} - coalesce(pg_sequence_last_value('public.strongroom_event_told_ms'::regclass), 0) not between 0 and ${QUIET_MS - 1}
    and pg_try_advisory_xact_lock(hashtext('${EVENTS_CHANNEL}'))
    and setval('public.strongroom_event_told_ms', ${NOW_MS}) > 0
    and pg_notify('${EVENTS_CHANNEL}', '') is null
    then null;
  end if;
  return null;
end $$;
revoke all on function public.strongroom_event_told from public;
drop trigger if exists strongroom_event_told on public.events;
create constraint trigger strongroom_event_told after insert on public.events deferrable initially deferred
  for each row execute function public.strongroom_event_told();
`

/** Each statement of the function sees what is committed when it begins: the last one begins with the lock held. */
const NUMBERS = `
create or replace function public.strongroom_event_numbers(of_project uuid, at_most int) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  reached bigint;
  given int;
begin
  if not exists (select from public.events where project_id = of_project and number is null) then return 0; end if;
  insert into public.event_counters (project_id) values (of_project) on conflict do nothing;
  select last_number into reached from public.event_counters where project_id = of_project for update;
  with waiting as (
    select id from public.events where project_id = of_project and number is null order by id limit at_most
  ), placed as (
    select id, row_number() over (order by id) as place from waiting
  )
  update public.events set number = reached + place from placed where events.id = placed.id;
  get diagnostics given = row_count;
  update public.event_counters set last_number = reached + given where project_id = of_project;
  return given;
end $$;
`

const TRIGGERS = [...Map.groupBy(ROWS, ({ name }) => name).values()].flatMap(([first, ...others]) =>
  first === undefined ? [] : rowTrigger(first, others),
)

/** Triggers of an earlier schema. */
const FORMER = ['credential_added', 'credential_removed', 'project_changed', 'refused']
  .map(
    (name) => `
drop trigger if exists strongroom_event_${name} on public.audit;
drop function if exists public.strongroom_event_${name};`,
  )
  .join('')

export const EVENTS = [FORMER, ...TRIGGERS, ...MOVEMENTS, NOTIFY, NUMBERS].join('')
