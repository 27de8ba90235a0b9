// For each type of event, a row that causes it, written by SQL as the service's processes write it.

import { randomUUID } from 'node:crypto'
import type { Sql, TransactionSql } from 'postgres'
import type { EventType } from '../../db/words.ts'

type AnySql = Sql | TransactionSql

/** What causes refer to. */
export type CausesGround = Awaited<ReturnType<typeof startCauses>>

const network = 'Ethereum'

/** A project with an owner, a wallet, a policy, an approval and a movement. These rows cause events too. */
export const startCauses = async (sql: AnySql) => {
  const projectId = randomUUID()
  const [keyring, wallet] = [randomUUID(), randomUUID()]
  const [policy, approval, movement] = [randomUUID(), randomUUID(), randomUUID()]
  const address = `0x${randomUUID()}`
  await sql`insert into projects (id, name) values (${projectId}, 'P')`
  await sql`insert into keyrings (id, project_id, owner_id, kind, sealed) values (${keyring}, ${projectId}, 'o', 'seed', '')`
  await sql`insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
    values (${wallet}, ${projectId}, ${network}, 'o', 'W', ${address}, 'user', 'eoa', ${keyring}, '', '')`
  await sql`insert into wallet_keys (wallet_id, keyring_id, network, control_mode, public_key, sealed)
    values (${wallet}, ${keyring}, ${network}, 'user', '', '')`
  await sql`insert into signers (network, address) values (${network}, ${address})`
  await sql`insert into user_keys (project_id, owner_id, salt, sealed) values (${projectId}, 'o', '', '')`
  await sql`insert into pin_guesses (project_id, owner_id, mac) values (${projectId}, 'o', '')`
  const ground = { projectId, keyring, wallet, policy, approval, movement, address }
  await insertPolicy(sql, ground, policy)
  await insertApproval(sql, ground, approval)
  await insertMovement(sql, ground, movement)
  return ground
}

type Of = Readonly<Record<'projectId' | 'keyring' | 'wallet' | 'policy' | 'approval' | 'movement' | 'address', string>>

const insertPolicy = (sql: AnySql, { projectId, wallet }: Of, id: string) => sql`
  insert into policies (id, project_id, network, wallet_id, name, argument_rules, max_total_fee)
  values (${id}, ${projectId}, ${network}, ${wallet}, 'Pay', '[{}]', 1)`

const insertApproval = (sql: AnySql, { projectId, wallet, policy }: Of, id: string) => sql`
  insert into approvals (id, project_id, wallet_id, policy_id, asked_by, request, required, approver_ids, expires_at)
  values (${id}, ${projectId}, ${wallet}, ${policy}, 'api_key:x', '{}', 1, ${[randomUUID()]}, now() + interval '1 hour')`

const insertMovement = (sql: AnySql, { address }: Of, id: string) => sql`
  insert into movements (id, network, address, direction, counterparty, standard, contract, token_id, amount, block_number,
    transaction_hash, log_index, item_index, at)
  values (${id}, ${network}, ${address}, 'in', '0xB', 'native', null, null, 1500000000000000000, 1, '0x', 0, 0, now())`

const insertAudit = (sql: AnySql, { projectId }: Of, action: string) => sql`
  insert into audit (project_id, at, actor, action, subject, details, mac)
  values (${projectId}, now(), 'operator', ${action}, 'o', '{}', '')`

/** Of each type exactly one event. */
export const CAUSES: Readonly<Record<EventType, (sql: AnySql, of: CausesGround) => Promise<unknown>>> = {
  'transaction.updated': (sql, { projectId, wallet, address }) => sql`
    insert into transactions (id, project_id, wallet_id, network, signer_address, kind, nonce, value, input, gas_limit, worst_cost, rungs)
    values (${randomUUID()}, ${projectId}, ${wallet}, ${network}, ${address}, 'send', 0, 0, '0x', 21000, 0, 1)`,
  'activity.created': (sql, of) => insertMovement(sql, of, randomUUID()),
  'activity.removed': (sql, { movement }) => sql`delete from movements where id = ${movement}`,
  'wallet.created': (sql, { projectId, keyring }) => sql`
    insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
    values (${randomUUID()}, ${projectId}, 'Polygon', 'o', 'W', ${randomUUID()}, 'user', 'eoa', ${keyring}, '', '')`,
  'user.created': (sql, { projectId }) =>
    sql`insert into users (id, project_id, mac) values (${randomUUID()}, ${projectId}, '')`,
  'policy.created': (sql, of) => insertPolicy(sql, of, randomUUID()),
  'policy.revoked': (sql, { policy }) => sql`update policies set revoked_at = now() where id = ${policy}`,
  'approval.requested': (sql, of) => insertApproval(sql, of, randomUUID()),
  'approval.decided': (sql, { approval }) => sql`
    insert into approval_decisions (approval_id, user_id, decision, credential_id, client_data_json, authenticator_data, signature)
    values (${approval}, ${randomUUID()}, 'approve', '', '', '', '')`,
  'approval.expired': (sql, { approval }) => sql`update approvals set expired_at = now() where id = ${approval}`,
  'credential.locked': (sql, { projectId }) =>
    sql`update pin_guesses set fails = 5, locked_until = now() + interval '1 day' where project_id = ${projectId}`,
  'credential.added': (sql, of) => insertAudit(sql, of, 'passkey_added'),
  'credential.removed': (sql, of) => insertAudit(sql, of, 'passkey_removed'),
  'project.changed': (sql, of) => insertAudit(sql, of, 'origins_changed'),
  'security.refused': (sql, of) => insertAudit(sql, of, 'wrong_pin'),
}
