import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs `source`, an ES module, in a process of its own, and waits until that has exited by itself. */
export function runChild(source, ...flags) {
  const module = globalThis.Deno ? ['eval'] : ['--input-type=module', '--eval'];
  const args = [...flags, ...module, source];
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout: stdout.trim(), stderr });
    });
  });
}
