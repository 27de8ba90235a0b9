// Rows that decide who a caller is, rows of wallets, ABIs that operators added, and facts of contracts that an API read have a MAC under
// a key derived from IDENTITY_KEY. So an attacker with the database but without the key can neither insert such a row nor change one:
// it counts as absent.
//
// A MAC covers the columns that decide. It does not cover columns that only inform (names), or that each use changes (a
// passkey's counter). The revocation of an API key and the end of a session erase the MAC, so nobody can undo them without a
// copy of the row from before.

import type { HasDb } from '../../../db/client.ts'
import { endedName } from '../../../db/deciding-rows.ts'
import type { AbiItemFacts } from '../../../db/queries/abis.ts'
import type { ApiKeyFacts } from '../../../db/queries/api-keys.ts'
import type { ContractFacts } from '../../../db/queries/facts.ts'
import type { IssuerFacts } from '../../../db/queries/issuers.ts'
import type { ListedTokenFacts } from '../../../db/queries/listed-tokens.ts'
import type { NonceRow } from '../../../db/queries/logins.ts'
import type { OperatorFacts, OperatorPasskeyFacts, OperatorTokenFacts } from '../../../db/queries/operators.ts'
import type { PasskeyFacts } from '../../../db/queries/passkeys.ts'
import type { ProjectSettings } from '../../../db/queries/projects.ts'
import type { SessionChallengeFacts } from '../../../db/queries/session-challenges.ts'
import type { SessionFacts } from '../../../db/queries/sessions.ts'
import type { UserIdentity } from '../../../db/queries/users.ts'
import type { WalletFacts } from '../../../db/queries/wallets.ts'
import type { AbiInput } from '../../../db/schema.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'
import type { HasSecurityEvents } from '../security-events.ts'

export type RowMac<Row> = {
  /** The table of the rows. */
  readonly table: string
  of(row: Row): Uint8Array
  /** Whether the row is as a process with the identity key wrote it. */
  holds(row: Row & { readonly mac: Uint8Array | null }): boolean
}

const rowMac =
  <Row>(table: string, fieldsOf: (row: Row) => readonly (string | Uint8Array)[]) =>
  (identity: Pick<Sealer, 'authenticator' | 'verifier'>): RowMac<Row> => {
    const authenticate = identity.authenticator(`row of ${table}`)
    const verifies = identity.verifier(`row of ${table}`)
    return { table, of: (row) => authenticate(fieldsOf(row)), holds: (row) => verifies(fieldsOf(row), row.mac) }
  }

/** Milliseconds since 1970. Somebody who writes rows can also write times that are no number, such as infinity. */
const timeOf = (at: Date): string => String(Number(at))

/** The scopes come last, as their number varies. */
export const apiKeyMac = rowMac<ApiKeyFacts>('api_keys', ({ id, projectId, hash, expiresAt, scopes }) => {
  const expiry = expiresAt === null ? '' : timeOf(expiresAt)
  return [id, projectId, hash, expiry, ...scopes]
})

/** Both lists come last, as their lengths vary. The number says where the first one ends. */
export const projectMac = rowMac<ProjectSettings>('projects', (row) => {
  const { id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin } = row
  const lists = [String(allowedOrigins.length), ...allowedOrigins, ...returnAddresses]
  return [id, passkeyRpId ?? '', String(anonymousLogin), ...lists]
})

export const passkeyMac = rowMac<PasskeyFacts>('passkeys', (row) => {
  const { id, projectId, userId, credentialId, publicKey, rpId, backupEligible } = row
  return [id, projectId, userId, credentialId, publicKey, rpId, String(backupEligible)]
})

/** An absent address, wallet or issuer differs from every present one: none is empty. */
export const userMac = rowMac<UserIdentity>('users', (row) => {
  const { id, projectId, email, signInWallet, issuer, subject, tokensFrom, keptToken } = row
  const from = tokensFrom === null ? '' : timeOf(tokensFrom)
  return [id, projectId, email ?? '', signInWallet ?? '', issuer ?? '', subject ?? '', from, keptToken ?? '']
})

/** The algorithms come last, as their number varies. The client's secret is sealed for these facts. */
export const issuerMac = rowMac<IssuerFacts>('issuers', (row) => {
  const { id, projectId, name, issuer, audience, audienceClaim, userClaim, clientId, algorithms } = row
  return [id, projectId, name, issuer, audience, audienceClaim, userClaim, clientId ?? '', ...algorithms]
})

export const sessionMac = rowMac<SessionFacts>('sessions', (row) => {
  const { id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt } = row
  const times = [authenticatedAt, refreshedAt, expiresAt].map(timeOf)
  return [id, projectId, userId, String(generation), ...times]
})

export const sessionChallengeMac = rowMac<SessionChallengeFacts>('session_challenges', (row) => {
  const { id, projectId, way, codeHash, linkHash, verifierHash, email, userId, askerAddress, askerDevice } = row
  const secrets = [codeHash, linkHash ?? '', verifierHash ?? '']
  const texts = [email ?? '', userId ?? '', askerAddress, askerDevice]
  return [
    id,
    projectId,
    way,
    ...secrets,
    ...texts,
    timeOf(row.expiresAt),
    row.authenticatedAt === null ? '' : timeOf(row.authenticatedAt),
  ]
})

export const nonceMac = rowMac<Omit<NonceRow, 'mac'>>('nonces', (row) => {
  const { projectId, kind, nonce, userId, target, createdAt, expiresAt } = row
  return [projectId, kind, nonce, userId ?? '', target, timeOf(createdAt), timeOf(expiresAt)]
})

export const walletMac = rowMac<WalletFacts>('wallets', (row) => {
  const { id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address } = row
  return [id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address]
})

export const contractFactsMac = rowMac<ContractFacts>('contract_facts', (row) => {
  const { network, address, standard, name, symbol, decimals } = row
  return [network, address, standard, name, symbol, String(decimals)]
})

/** The parts of an item in a fixed order: jsonb keeps none. */
const partsOf = ({ name, type, components }: AbiInput): unknown => [name, type, components?.map(partsOf) ?? null]

/** An ABI of every contract has no address. */
export const abiItemMac = rowMac<AbiItemFacts>('abi_items', (row) => {
  const { abiName, network, address, kind, selector, signature, item } = row
  const text = JSON.stringify([item.name, item.inputs.map(partsOf)])
  return [abiName, network ?? '', address ?? '', kind, selector, signature, text]
})

export const listedTokenMac = rowMac<ListedTokenFacts>('listed_tokens', (row) => {
  const { network, address, listName, name, symbol, logoUrl, displayDecimals } = row
  return [network, address, listName, name, symbol, logoUrl, displayDecimals === null ? '' : String(displayDecimals)]
})

export const operatorMac = rowMac<OperatorFacts>('operators', ({ name, role }) => [name, role])

export const operatorPasskeyMac = rowMac<OperatorPasskeyFacts>('operator_passkeys', (row) => {
  return [row.operatorName, row.credentialId, row.publicKey, String(row.backupEligible)]
})

export const operatorTokenMac = rowMac<OperatorTokenFacts>('operator_tokens', (row) => {
  return [row.operatorName, row.kind, row.hash, timeOf(row.expiresAt)]
})

type ReportCtx = HasSecurityEvents

/** Reports a row that was not written by the service, as a security event. */
export const reportForged = (
  ctx: ReportCtx,
  row: { readonly table: string; readonly id: string; readonly projectId: string | null },
): void => {
  const { table, id: subject, projectId } = row
  ctx.securityEvents.record({ event: { kind: 'row_forged', projectId, subject, details: { table } }, from: '' })
}

/** Whether a row that admits somebody is over by this process's clock. The queries judge it by the database's clock: either is enough. */
export const isOver = ({ now }: HasClock, { expiresAt }: { readonly expiresAt: Date | null }): boolean =>
  expiresAt !== null && expiresAt <= now()

/**
 * Whether a row that admits somebody is as we wrote it, and was not ended by this process before. If not, this reports it, and the
 * caller treats the row as absent.
 */
export const isOurs = <Row>(
  ctx: ReportCtx & { readonly db: Pick<HasDb['db'], 'ended'> },
  mac: RowMac<Row>,
  row: Row & { readonly id: string; readonly projectId: string; readonly mac: Uint8Array | null },
): boolean => {
  if (mac.holds(row) && !ctx.db.ended.has(endedName(mac.table, [row.id]))) return true
  reportForged(ctx, { table: mac.table, id: row.id, projectId: row.projectId })
  return false
}
