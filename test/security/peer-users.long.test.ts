// A vault's process that serves none of the users who connect to it, but its operator.

import { expect, test } from 'bun:test'
import { getuid, platform } from 'node:process'
import { connectOperatorVault, connectVault, operatorSocketOf } from '../../src/vault/client/remote-vault.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startVaultProcess } from '../support/vault.ts'

const OTHER = 65_533
const uid = getuid?.() ?? 0

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database

test.skipIf(platform !== 'linux')(
  'the vault refuses other users at the socket of the APIs, writes an audit row, and serves its operator',
  async () => {
    const VAULT_SOCKET = `${service.variables.VAULT_SOCKET}.users`
    const variables = { ...service.vaultVariables, VAULT_SOCKET, VAULT_CLIENT_UIDS: String(OTHER) }
    const vault = await startVaultProcess(variables)
    const api = connectVault({ sockets: [VAULT_SOCKET], name: 'api', onChange: () => {} })
    await expect(api.status()).rejects.toMatchObject({ code: 'unavailable' })
    api.close()
    const operator = connectOperatorVault({ sockets: [operatorSocketOf(VAULT_SOCKET)], name: 'op', onChange: () => {} })
    expect(await operator.status()).toMatchObject({ lacking: null })
    operator.close()
    await vault.stop()
    const rows = await sql`
    select details->>'client' as client, (details->>'count')::int as count from audit
    where action = 'vault_connection_refused' and details->>'why' like '%VAULT_CLIENT_UIDS' order by id`
    expect(rows[0]).toEqual({ client: `uid ${uid}`, count: 1 })
    // It was tried ten times a second.
    expect(rows[1]?.count).toBeGreaterThan(1)
  },
)
