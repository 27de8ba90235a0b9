import { Command } from 'commander'
import type { Config } from '../../platform/config.ts'
import { explainFailure } from '../../platform/environment/failure.ts'
import type { Finding } from '../doctor/finding.ts'
import { rowAsJson } from './arguments.ts'
import type { Shell } from './shell.ts'

const MARKS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok',
  warning: 'WARNING',
  failed: 'FAILED',
  unchecked: '-',
}
const MARK_LENGTH = 8

const linesOf = ({ check, state, found, advice }: Finding): readonly string[] => [
  `${MARKS[state].padEnd(MARK_LENGTH)}${check}: ${found}`,
  ...(advice === null ? [] : [`${' '.repeat(MARK_LENGTH)}${advice}`]),
]

/** The role of the process whose variables these are: only a vault has a root key, and a worker has no identity key. */
const roleOf = ({ rootKey, identityKey }: Config) => {
  if (rootKey !== null) return 'strongroom_vault'
  return identityKey === null ? 'strongroom_worker' : 'strongroom_api'
}

const examineHere = async ({ withExaminedCtx }: Shell): Promise<readonly Finding[]> => {
  const { findingsOf } = await import('../doctor/finding.ts')
  try {
    let findings: readonly Finding[] = []
    await withExaminedCtx(async (ctx) => {
      const { examine } = await import('../doctor/doctor.ts')
      findings = await examine({ ...ctx, role: roleOf(ctx.config) })
    })
    return findings
  } catch (error) {
    return [findingsOf('variables').failed(explainFailure(error), 'Correct that, and run it again.')]
  }
}

export const doctorCommands = (shell: Shell): Command =>
  new Command('doctor')
    .description(
      'Check variables, database, keys, vaults, workers, nodes, mail server, clock and disk, and say what to do. Changes nothing; ends with 1 if something has failed.',
    )
    .option('--json', 'print a JSON array')
    .action(async ({ json }: { json?: boolean }) => {
      const findings = await examineHere(shell)
      if (json) shell.printJson(findings.map(rowAsJson))
      else for (const finding of findings) for (const line of linesOf(finding)) shell.print(line)
      if (findings.some(({ state }) => state === 'failed')) shell.fail()
    })
