// The tables whose rows decide who a caller is, and those of wallets: how they are read, and their MACs. Whoever checks them and
// whoever changes the key goes through this one list.

import type { Db } from '../../../db/client.ts'
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
import type { MacTable } from '../../../db/queries/key-rotation.ts'
import {
  apiKeyMac,
  issuerMac,
  passkeyMac,
  projectMac,
  type RowMac,
  sessionChallengeMac,
  sessionMac,
  userMac,
  walletMac,
} from './row-macs.ts'

export type CallerRow = { readonly id: string; readonly projectId: string; readonly mac: Uint8Array | null }

export type CallerTable<Row> = {
  readonly table: MacTable
  readonly macOf: (key: Parameters<typeof userMac>[0]) => RowMac<Row>
  /** A page of the rows that are not ended, by their ids. */
  readonly readPage: (db: Db, page: Page) => Promise<readonly (Row & CallerRow)[]>
}

/** Does the same with each table, one after the other. */
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
