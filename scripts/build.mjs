// npm run build: everything needed to require the package from this checkout.
import { prepare } from './prepare.mjs';

await prepare();
console.log('Ready.');
