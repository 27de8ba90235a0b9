import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The system's facts about a process. */
type ProcessInfo = { readonly parentPid: number; readonly command: string }

const parse = (text: string): ProcessInfo | undefined => {
  const [, state, parentPid, command] = /^\s*(\S)\S*\s+([0-9]+)\s+(.*)$/s.exec(text) ?? []
  // A zombie, which waits for its parent, has ended.
  if (command === undefined || state === 'Z' || state === 'X') return undefined
  return { parentPid: Number(parentPid), command: command.trim() }
}

/**
 * What Linux says of a process from the third field on. The second is a name in parentheses that may hold anything
 * (proc_pid_stat(5)).
 */
const statOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^[0-9]+ \(.*\) /s, '')

/** A process's parent and command line; undefined if it does not run or the system does not say. */
export const readProcess = (pid: number): ProcessInfo | undefined => {
  if (process.platform !== 'linux') {
    return parse(String(spawnSync('ps', ['-o', 'stat=,ppid=,command=', '-p', String(pid)]).stdout))
  }
  try {
    const [state, parentPid] = statOf(pid).split(' ')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return parse(`${state} ${parentPid} ${command}`)
  } catch {
    return undefined
  }
}

/** `ps` writes minutes and seconds, on some systems with hours before them. */
const psSeconds = (text: string): number => text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) || 0

/** Linux counts CPU time in hundredths of a second (proc_pid_stat(5)). */
const TICKS_PER_SECOND = 100

/** The CPU time that a process has used; 0 if it does not run or the system does not say. */
export const cpuSecondsOf = (pid: number): number => {
  if (process.platform !== 'linux') return psSeconds(String(spawnSync('ps', ['-o', 'time=', '-p', String(pid)]).stdout))
  try {
    const fields = statOf(pid).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}

/** Whether a process runs. On systems where asking costs a process, one that has ended may still count. */
export const isRunning = (pid: number): boolean => {
  if (process.platform === 'linux') return readProcess(pid) !== undefined
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
