// Reaching the vaults from another process.

import type { HasClose } from '../../../db/client.ts'
import type { Process } from '../../platform/config.ts'
import { unreachable } from '../../platform/errors.ts'
import { createLog } from '../../platform/process/log.ts'
import type { OperatorVault, Vault } from '../contract/vault.ts'
import {
  type ConnectOptions,
  connectOperatorVault,
  connectVault,
  isByTls,
  operatorSocketOf,
  type Remote,
} from './remote-vault.ts'

/** @param input.measure runs each call, to trace it. */
type Reaching = Process & Pick<ConnectOptions, 'measure'>

const optionsOf = (input: Reaching) => {
  const { vaultSockets: sockets, vaultTls: tls } = input.config
  if (sockets.length === 0) throw new Error('VAULT_SOCKET must be the path of the socket at which the vault listens.')
  const { measure } = input
  const log = createLog(input)
  const troubles = new Map<string, string>()
  return {
    sockets,
    tls,
    name: `strongroom-${input.process}`,
    ...(measure && { measure }),
    onChange: ({ socket, is }: Parameters<ConnectOptions['onChange']>[0]) => {
      troubles.delete(socket)
      switch (is) {
        case 'open':
          return log.info({ socket }, 'connected to the vault')
        case 'lost':
          return log.warn({ socket }, 'lost the vault')
        case 'unfit':
          return log.error({ socket }, 'the root key was changed: the vault must be restarted with the present one')
        default:
          return unreachable(is)
      }
    },
    /** Tries ten times a second, and logs when the reason changes. */
    onUnreached: ({ socket, error }: { readonly socket: string; readonly error: Error | null }) => {
      const why = error?.message ?? 'it closed the connection, or said nothing'
      if (troubles.get(socket) !== why) log.warn({ socket, why }, 'the vault cannot be reached')
      troubles.set(socket, why)
    },
  }
}

/** Connects to the vaults that `VAULT_SOCKET` names. @throws Error if the certificate's files cannot be used. */
export const openVaults = (input: Reaching): Remote<Vault> => connectVault(optionsOf(input))

/** The sockets for an operator. An operator is never served by TLS. */
export const operatorSocketsOf = ({ vaultSockets }: Process['config']): readonly string[] => {
  const paths = vaultSockets.filter((socket) => !isByTls(socket))
  if (paths.length > 0 || vaultSockets.length === 0) return paths
  throw new Error('VAULT_SOCKET must have the path of a vault’s socket: run this on the machine of the vault.')
}

/** Connects as an operator, at sockets that only the vault's own user may open. */
export const openVaultsAsOperator = (input: Reaching): Remote<OperatorVault> => {
  const sockets = operatorSocketsOf(input.config).map(operatorSocketOf)
  return connectOperatorVault({ ...optionsOf(input), sockets })
}

export type Named<AnyVault> = { readonly socket: string; readonly vault: AnyVault }

/** Connects to each vault by itself, as each has a journal of its own, until the work has ended. */
export const withEachVault = async <AnyVault extends Vault, Result>(
  open: (input: Process) => Remote<AnyVault>,
  { config, process, sockets = config.vaultSockets }: Process & { readonly sockets?: readonly string[] },
  work: (vaults: readonly Named<AnyVault>[]) => Promise<Result>,
): Promise<Result> => {
  const vaults = sockets.map((socket) => ({
    socket,
    vault: open({ config: { ...config, vaultSockets: [socket] }, process }),
  }))
  try {
    return await work(vaults)
  } finally {
    for (const { vault } of vaults) vault.close()
  }
}

/** Adds the vault to a context, which then closes both. */
export const withVault = async <AnyVault, Base extends HasClose>(
  vault: Remote<AnyVault>,
  create: () => Promise<Base>,
): Promise<Base & { readonly vault: AnyVault }> => {
  try {
    const base = await create()
    const close: HasClose['close'] = async (options) => {
      vault.close()
      await base.close(options)
    }
    return { ...base, vault, close }
  } catch (error) {
    vault.close()
    throw error
  }
}
