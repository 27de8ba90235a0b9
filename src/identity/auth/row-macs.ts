// Rows that decide who a caller is, rows of wallets, ABIs that operators added, and facts of contracts that an API read
// have a MAC under a key derived from IDENTITY_KEY. So an attacker with the database but without the key can neither
// insert such a row nor change one: it counts as absent.
//
// A MAC covers the columns that decide. It does not cover columns that only inform (names), or that each use changes (a
// passkey's counter). The revocation of an API key and the end of a session erase the MAC, so an attacker cannot undo
// them without a copy of the row from before.

import type { Db, HasDb } from '../../../db/client.ts'
import { endedName } from '../../../db/deciding-rows.ts'
import type { AbiItemFacts } from '../../../db/queries/abis.ts'
import type { ApiKeyFacts } from '../../../db/queries/api-keys.ts'
import {
  type Page,
  pageOfApiKeys,
  pageOfIssuers,
  pageOfPasskeys,
  pageOfProjects,
  pageOfSessionChallenges,
  pageOfSessions,
  pageOfUsers,
  pageOfWallets,
} from '../../../db/queries/caller-rows.ts'
import type { ContractFacts } from '../../../db/queries/facts.ts'
import type { IssuerFacts } from '../../../db/queries/issuers.ts'
import type { MacTable } from '../../../db/queries/key-rotation.ts'
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

// The tables whose rows decide who a caller is, and those of wallets: how they are read, and their MACs. The check
// of rows and the change of the key go through this list.

export type CallerRow = { readonly id: string; readonly projectId: string; readonly mac: Uint8Array | null }

export type CallerTable<Row> = {
  readonly table: MacTable
  readonly macOf: (key: Parameters<typeof userMac>[0]) => RowMac<Row>
  /** A page of the rows that are not ended, by their ids. */
  readonly readPage: (db: Db, page: Page) => Promise<readonly (Row & CallerRow)[]>
}

export const withEachCallerTable = async <Result>(
  work: <Row>(table: CallerTable<Row>) => Promise<Result>,
): Promise<readonly Result[]> => [
  await work({ table: 'projects', macOf: projectMac, readPage: pageOfProjects }),
  await work({ table: 'api_keys', macOf: apiKeyMac, readPage: pageOfApiKeys }),
  await work({ table: 'issuers', macOf: issuerMac, readPage: pageOfIssuers }),
  await work({ table: 'passkeys', macOf: passkeyMac, readPage: pageOfPasskeys }),
  await work({ table: 'users', macOf: userMac, readPage: pageOfUsers }),
  await work({ table: 'wallets', macOf: walletMac, readPage: pageOfWallets }),
  await work({ table: 'sessions', macOf: sessionMac, readPage: pageOfSessions }),
  await work({ table: 'session_challenges', macOf: sessionChallengeMac, readPage: pageOfSessionChallenges }),
]

export type RowMac<Row> = {
  readonly table: string
  of(row: Row): Uint8Array
  /** Whether the row is as a process with the identity key wrote it. */
  holds(row: Row & { readonly mac: Uint8Array | null }): boolean
}

type Column = string | Uint8Array | number | boolean | Date | null

/** Times are milliseconds since 1970. An attacker can also write times that are not numbers, such as infinity. */
const encodeColumn = (column: Column): string | Uint8Array => {
  if (typeof column === 'string' || column instanceof Uint8Array) return column
  return column === null ? '' : String(column instanceof Date ? column.getTime() : column)
}

const rowMac =
  <Row>(table: string, columnsOf: (row: Row) => readonly Column[]) =>
  (identity: Pick<Sealer, 'authenticator' | 'verifier'>): RowMac<Row> => {
    const authenticate = identity.authenticator(`row of ${table}`)
    const verifies = identity.verifier(`row of ${table}`)
    const fieldsOf = (row: Row) => columnsOf(row).map(encodeColumn)
    return { table, of: (row) => authenticate(fieldsOf(row)), holds: (row) => verifies(fieldsOf(row), row.mac) }
  }

/** The scopes come last, as their number varies. */
export const apiKeyMac = rowMac<ApiKeyFacts>('api_keys', (row) => {
  return [row.id, row.projectId, row.hash, row.expiresAt, ...row.scopes]
})

/** Both lists come last, as their lengths vary. The number says where the first one ends. */
export const projectMac = rowMac<ProjectSettings>('projects', (row) => {
  const { id, allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin } = row
  return [id, passkeyRpId, anonymousLogin, allowedOrigins.length, ...allowedOrigins, ...returnAddresses]
})

export const passkeyMac = rowMac<PasskeyFacts>('passkeys', (row) => {
  const { id, projectId, userId, credentialId, publicKey, rpId, backupEligible } = row
  return [id, projectId, userId, credentialId, publicKey, rpId, backupEligible]
})

/** An absent address, wallet or issuer differs from every present one: none is empty. */
export const userMac = rowMac<UserIdentity>('users', (row) => {
  const { id, projectId, email, signInWallet, issuer, subject, tokensFrom, keptToken } = row
  return [id, projectId, email, signInWallet, issuer, subject, tokensFrom, keptToken]
})

/** The algorithms come last, as their number varies. The client's secret is sealed for these facts. */
export const issuerMac = rowMac<IssuerFacts>('issuers', (row) => {
  const { id, projectId, name, issuer, audience, audienceClaim, userClaim, clientId, algorithms } = row
  return [id, projectId, name, issuer, audience, audienceClaim, userClaim, clientId, ...algorithms]
})

export const sessionMac = rowMac<SessionFacts>('sessions', (row) => {
  const { id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt } = row
  return [id, projectId, userId, generation, authenticatedAt, refreshedAt, expiresAt]
})

export const sessionChallengeMac = rowMac<SessionChallengeFacts>('session_challenges', (row) => {
  const { id, projectId, way, codeHash, linkHash, verifierHash, email, userId, askerAddress, askerDevice } = row
  const facts = [codeHash, linkHash, verifierHash, email, userId, askerAddress, askerDevice]
  return [id, projectId, way, ...facts, row.expiresAt, row.authenticatedAt]
})

export const nonceMac = rowMac<Omit<NonceRow, 'mac'>>('nonces', (row) => {
  const { projectId, kind, nonce, userId, target, createdAt, expiresAt } = row
  return [projectId, kind, nonce, userId, target, createdAt, expiresAt]
})

export const walletMac = rowMac<WalletFacts>('wallets', (row) => {
  const { id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address } = row
  return [id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address]
})

export const contractFactsMac = rowMac<ContractFacts>('contract_facts', (row) => {
  return [row.network, row.address, row.standard, row.name, row.symbol, String(row.decimals)]
})

/** The parts of an item in a fixed order: jsonb keeps none. */
const partsOf = ({ name, type, components }: AbiInput): unknown => [name, type, components?.map(partsOf) ?? null]

/** An ABI of every contract has no address. */
export const abiItemMac = rowMac<AbiItemFacts>('abi_items', (row) => {
  const { abiName, network, address, kind, selector, signature, item } = row
  const text = JSON.stringify([item.name, item.inputs.map(partsOf)])
  return [abiName, network, address, kind, selector, signature, text]
})

export const listedTokenMac = rowMac<ListedTokenFacts>('listed_tokens', (row) => {
  const { network, address, listName, name, symbol, logoUrl, displayDecimals } = row
  return [network, address, listName, name, symbol, logoUrl, displayDecimals]
})

export const operatorMac = rowMac<OperatorFacts>('operators', ({ name, role }) => [name, role])

export const operatorPasskeyMac = rowMac<OperatorPasskeyFacts>('operator_passkeys', (row) => {
  return [row.operatorName, row.credentialId, row.publicKey, row.backupEligible]
})

export const operatorTokenMac = rowMac<OperatorTokenFacts>('operator_tokens', (row) => {
  return [row.operatorName, row.kind, row.hash, row.expiresAt]
})

/** Reports a row that was not written by the service, as a security event. */
export const reportForged = (
  ctx: HasSecurityEvents,
  row: { readonly table: string; readonly id: string; readonly projectId: string | null },
): void => {
  const { table, id: subject, projectId } = row
  ctx.securityEvents.record({ event: { kind: 'row_forged', projectId, subject, details: { table } }, from: '' })
}

/** By this process's clock. Queries also judge it by the database's clock: a row is over if either says so. */
export const isOver = ({ now }: HasClock, { expiresAt }: { readonly expiresAt: Date | null }): boolean =>
  expiresAt !== null && expiresAt <= now()

/** Whether we wrote the row, and this process has not ended it. Reports it if not: the caller treats it as absent. */
export const isOurs = <Row>(
  ctx: HasSecurityEvents & { readonly db: Pick<HasDb['db'], 'ended'> },
  mac: RowMac<Row>,
  row: Row & { readonly id: string; readonly projectId: string; readonly mac: Uint8Array | null },
): boolean => {
  if (mac.holds(row) && !ctx.db.ended.has(endedName(mac.table, [row.id]))) return true
  reportForged(ctx, { table: mac.table, id: row.id, projectId: row.projectId })
  return false
}
