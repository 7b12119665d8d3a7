import resilience = require('@ylcnfrht/resilience');
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

using pipeline = new resilience.ResiliencePipelineBuilder().addConcurrencyLimiter(10, 50).build();

export const middleware = resilienceMiddleware({ pipeline });
