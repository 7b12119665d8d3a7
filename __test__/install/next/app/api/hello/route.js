import { standardPipeline } from '@ylcnfrht/resilience';
import { resilientFetch } from '@ylcnfrht/resilience/http';

export const dynamic = 'force-dynamic';

const fetchText = resilientFetch(standardPipeline({ name: 'texts' }));

export async function GET() {
  const response = await fetchText('data:text/plain,hello');
  return new Response(await response.text());
}
