import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ: the kernel tells times to programs in hundredths of a second on every platform that Linux knows. */
const MS_A_TICK = 10

type Stat = { readonly parent: number; readonly ticks: number }

const statOf = (pid: number): Stat | null => {
  try {
    // proc(5): the name may hold blanks and parentheses, so the fields are counted behind its end; 4 is the parent, 14
    // to 17 are the times in user and kernel mode, of the process and of its children that were waited for.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    return { parent: field(4), ticks: field(14) + field(15) + field(16) + field(17) }
  } catch {
    return null
  }
}

/** CPU time so far of a process and its children; of this process alone, as all others are its children. */
export const cpuMsOf = (pid: number): number => {
  if (pid === process.pid) {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let ticks = statOf(pid)?.ticks ?? 0
  for (const name of readdirSync('/proc')) {
    const stat = /^[0-9]+$/.test(name) ? statOf(Number(name)) : null
    if (stat?.parent === pid) ticks += stat.ticks
  }
  return ticks * MS_A_TICK
}

/** CPU time of named processes while something runs. */
export const measureCpu = async <Name extends string, Result>(
  pids: Readonly<Record<Name, number>>,
  work: () => Promise<Result>,
): Promise<{ readonly cpuMs: Readonly<Record<Name, number>>; readonly wallMs: number; readonly result: Result }> => {
  const names = Object.keys(pids) as Name[]
  const readAll = () => names.map((name) => cpuMsOf(pids[name]))
  const before = readAll()
  const begun = performance.now()
  const result = await work()
  const wallMs = performance.now() - begun
  const after = readAll()
  const spent = names.map((name, index) => [name, (after[index] ?? 0) - (before[index] ?? 0)])
  return { cpuMs: Object.fromEntries(spent) as Record<Name, number>, wallMs, result }
}
