import { Command } from 'commander'
import { readConfig } from '../../platform/config.ts'
import { SUBSTRATE_NETWORKS, type SubstrateNetwork, substrateNetworkRow } from '../../platform/networks.ts'
import { oneOf } from './arguments.ts'
import type { Shell } from './shell.ts'

/** Loaded late: the metadata reader takes half a second to load, and help texts do not need it. */
const loadReader = () => import('../../chains/read-pin.ts')

const pin =
  ({ variables, print, printJson, note }: Shell) =>
  async (network: SubstrateNetwork, { url, json }: { url?: string; json?: boolean }) => {
    const config = readConfig(variables)
    const rpcUrl = url ?? config.rpcUrls[network]?.[0]?.reveal()
    if (rpcUrl === undefined) throw new Error(`The configuration has no node of ${network}: name one with --url.`)
    const { readPin } = await loadReader()
    const row = substrateNetworkRow({ ...config, network })
    const { specName, specVersion, hash, isCovered } = await readPin({ row, rpcUrl, timeoutMs: config.nodeTimeoutMs })
    if (json) return printJson({ network, spec_name: specName, spec_version: specVersion, hash, is_covered: isCovered })
    print(`${network.toUpperCase()}_METADATA_PIN=${specVersion}:${hash}`)
    note(
      `Only one node says that runtime ${specName} ${specVersion} has this metadata. Ask a second node, or build the runtime.`,
    )
    if (isCovered) note('Signatures cover its metadata. It needs a pin only if it was built without the metadata hash.')
  }

export const runtimeCommands = (shell: Shell): Command => {
  const command = new Command('runtime').description(
    `Runtimes of ${SUBSTRATE_NETWORKS.join(' and ')}, whose metadata signing depends on.`,
  )
  command
    .command('pin')
    .description("Print the pin of the metadata of a node's current runtime.")
    .argument('<network>', SUBSTRATE_NETWORKS.join(' or '), oneOf(SUBSTRATE_NETWORKS))
    .option('--url <url>', 'use this node instead of the configured one')
    .option('--json', 'print a JSON object')
    .action(pin(shell))
  return command
}
