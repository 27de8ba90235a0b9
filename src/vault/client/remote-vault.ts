// The vault of another process, as an object with the same methods.

import type { AnyMethod, Calls } from '../contract/method.ts'
import { KEY_METHODS, METHODS, OPERATOR_METHODS } from '../contract/methods.ts'
import type { OperatorVault, Vault } from '../contract/vault.ts'
import { type Client, type ConnectOptions, connect } from './connect.ts'
import { isByTls } from './dial.ts'
import { readTls } from './tls-files.ts'

export type { ConnectOptions }
export { isByTls }

/** Where a vault listens for its operator, beside the socket for APIs. Only the vault's own user may connect there. */
export const operatorSocketOf = (socket: string): string => `${socket}.operator`

/** A vault in another process. */
export type Remote<Of> = Of & {
  /** Ends all connections. What is under way fails with `unavailable`. */
  readonly close: () => void
}

/** The keys that it opens stay with the vault that opened them. */
const openingOf = (client: Client): Pick<Vault, 'openKey' | 'openKeyByPolicy' | 'openPolicies'> => ({
  openKey: async (request) => {
    const { output: handle, held } = await client.hold(KEY_METHODS.openKey, request)
    return {
      sign: (...uses) => held.ask(KEY_METHODS.sign, { handle, uses }),
      [Symbol.dispose]: () => held.end(KEY_METHODS.closeKey, { handle }),
    }
  },
  openKeyByPolicy: async (request) => {
    const { output: handle, held } = await client.hold(KEY_METHODS.openKeyByPolicy, request)
    return {
      sign: (spends, ...uses) => held.ask(KEY_METHODS.signByPolicy, { handle, spends, uses }),
      [Symbol.dispose]: () => held.end(KEY_METHODS.closeKey, { handle }),
    }
  },
  openPolicies: async (request) => {
    const { output, held } = await client.hold(KEY_METHODS.openPolicies, request)
    const { handle, policies } = output
    return {
      policies,
      sign: async (by, ...uses) => {
        const signatures = await held.ask(KEY_METHODS.signOnceByPolicy, { handle, ...by, uses })
        held.release()
        return signatures
      },
      [Symbol.dispose]: () => held.end(KEY_METHODS.closeKey, { handle }),
    }
  },
})

/** The methods of a table, each asked by its name. */
const asking = <Table extends Readonly<Record<string, AnyMethod>>>(client: Client, table: Table): Calls<Table> => {
  const callOf = (method: AnyMethod) => (input: unknown, onProgress?: (progress: unknown) => void) =>
    client.ask(method, input ?? {}, onProgress)
  return Object.fromEntries(Object.values(table).map((method) => [method.name, callOf(method)])) as Calls<Table>
}

const apiOf = (client: Client): Vault => ({ ...openingOf(client), ...asking(client, METHODS) })

/** Connects to one or more vaults as an API. @throws Error if the certificate's files cannot be used. */
export const connectVault = (options: ConnectOptions): Remote<Vault> => {
  if (options.tls && options.sockets.some(isByTls)) readTls(options.tls)
  const client = connect(options)
  return { ...apiOf(client), close: client.close }
}

/** Connects as an operator. The sockets are those of `operatorSocketOf`. */
export const connectOperatorVault = (options: ConnectOptions): Remote<OperatorVault> => {
  const client = connect(options)
  return { ...apiOf(client), ...asking(client, OPERATOR_METHODS), close: client.close }
}
